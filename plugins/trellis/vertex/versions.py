"""Names of model versions: projects/P/locations/R/models/ID@VERSION."""

import re
from typing import NamedTuple

_NAME = re.compile(
    r"projects/(?P<project>[^/]+)/locations/(?P<region>[^/]+)/models/(?P<id>[^/@]+)"
    r"(@(?P<version>[0-9]+))?"
)


class VersionName(NamedTuple):
    """The parts of a version's name. version: its number as text; "" for a model without one."""

    project: str
    region: str
    id: str
    version: str

    @property
    def model(self) -> str:
        """The model's name, without the version."""
        return f"projects/{self.project}/locations/{self.region}/models/{self.id}"

    @property
    def name(self) -> str:
        return f"{self.model}@{self.version}"

    def is_the_same_as(self, other: "VersionName") -> bool:
        """Return whether both name the same version. Google may return the project's number for its
        id.
        """
        mixed = self.project.isdigit() != other.project.isdigit()
        return self[1:] == other[1:] and (mixed or self.project == other.project)


def parse_model(name: str) -> VersionName:
    """The parts of a model's name, with or without @VERSION. Raises ValueError with the form."""
    match = _NAME.fullmatch(str(name))
    if match is None:
        raise ValueError(
            f"{name!r} is not the name of a model: it must be "
            "projects/PROJECT/locations/REGION/models/ID, then @VERSION (a number) for a version."
        )
    return VersionName(match["project"], match["region"], match["id"], match["version"] or "")


def parse_version(name: str) -> VersionName:
    """The parts of a version's name. Raises ValueError for what names no version."""
    parsed = parse_model(name)
    if not parsed.version:
        raise ValueError(f"{name!r} names a model, but not which version: add @VERSION.")
    return parsed

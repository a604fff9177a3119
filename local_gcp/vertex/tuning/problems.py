"""All that is wrong with a request, in one answer."""

from __future__ import annotations

import re

NOT_PLAYED = "local_gcp does not play this"


class Problems:
    """Collects what is wrong with a request, so that one answer names all of it."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, field: str, message: str) -> None:
        """`field` is a path in the request, e.g. `study_spec.parameters[0].parameter_id`."""
        self.found.append(f"{len(self.found) + 1}.Field: {field}; Message: {message}")

    def text(self) -> str:
        """All of it, in the format of Vertex AI's own answers."""
        return "List of found errors:\t" + "\t".join(self.found)

    def check_id(self, field: str, value: str) -> None:
        """An id of a metric or parameter: there, and without white space."""
        if not value:
            self.add(field, "Required.")
        elif re.search(r"\s", value):
            self.add(field, f"{value!r} contains white space.")

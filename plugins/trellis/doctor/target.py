"""The target of the diagnoses: a group's platform, its experiments, and their project."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from trellis.google_api import GoogleApi
from trellis.workflow.spec import platform as platforms
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.validation.file import load


@dataclass(frozen=True)
class Target:
    """The group's files, and access to Google's APIs."""

    platform: Platform
    experiments: Mapping[Path, Experiment]
    api: GoogleApi = field(default_factory=GoogleApi)
    today: date = field(default_factory=date.today)

    @functools.cached_property
    def caller(self) -> str:
        return self.api.caller()

    @property
    def member(self) -> str:
        """The caller in the format of gcloud's --member."""
        kind = "serviceAccount" if self.caller.endswith("gserviceaccount.com") else "user"
        return f"{kind}:{self.caller}" if "@" in self.caller else "user:YOU"

    def grant(self, role: str) -> str:
        """The command that grants the caller a role in the project."""
        return (
            f"gcloud projects add-iam-policy-binding {self.platform.project} "
            f"--member={self.member} --role={role}"
        )

    def grant_on_bucket(self, bucket: str, role: str) -> str:
        """The command that grants the caller a role on a bucket."""
        return (
            f"gcloud storage buckets add-iam-policy-binding gs://{bucket} "
            f"--member={self.member} --role={role}"
        )


def read(folder: Path) -> tuple[Platform, dict[Path, Experiment]]:
    """The platform and all experiments of a folder of DAG files. Raises FileError."""
    files: Sequence[Path] = sorted((folder / "experiments").glob("*.yaml"))
    platform = platforms.load(folder)
    return platform, {file: load(file, profile=platform.profile) for file in files}

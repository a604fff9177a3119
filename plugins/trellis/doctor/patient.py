"""What is examined: a group's platform and experiments, and the project that they name."""

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
class Patient:
    """The group's files, and how to ask Google."""

    platform: Platform
    experiments: Mapping[Path, Experiment]
    api: GoogleApi = field(default_factory=GoogleApi)
    today: date = field(default_factory=date.today)

    @functools.cached_property
    def caller(self) -> str:
        return self.api.caller()

    @property
    def member(self) -> str:
        """The caller as gcloud's --member has it."""
        kind = "serviceAccount" if self.caller.endswith("gserviceaccount.com") else "user"
        return f"{kind}:{self.caller}" if "@" in self.caller else "user:YOU"

    def grant(self, role: str) -> str:
        """The command that gives the caller a role in the project."""
        return (
            f"gcloud projects add-iam-policy-binding {self.platform.project} "
            f"--member={self.member} --role={role}"
        )


def read(folder: Path) -> tuple[Platform, dict[Path, Experiment]]:
    """The platform and all experiments of a folder of DAG files. Raises FileError."""
    files: Sequence[Path] = sorted((folder / "experiments").glob("*.yaml"))
    return platforms.load(folder), {file: load(file) for file in files}

"""`trellis doctor FOLDER`."""

import sys
from pathlib import Path

from trellis.doctor import smoke
from trellis.doctor.diagnoses.permissions import AS_AIRFLOW
from trellis.doctor.runner import diagnose
from trellis.doctor.target import Target, read
from trellis.google_api import CredentialsError
from trellis.workflow.spec.problems import FileError


def run(folder: Path, with_jobs: bool = False) -> int:
    """Check the project of a folder of DAG files; returns the exit code, 1 for findings.

    with_jobs: also run two small jobs.
    """
    try:
        target = Target(*read(folder))
        caller = target.caller
    except (FileError, CredentialsError) as error:
        print(error, file=sys.stderr)
        return 1
    group = target.platform
    print(f"Project {group.project} in {group.region}, {len(target.experiments)} experiments")
    print(f"as {caller}\n")
    findings = diagnose(target, sys.stdout)
    if with_jobs:
        print()
        findings += smoke.run(target, sys.stdout)
    print(f"\n{len(findings) or 'Nothing'} to fix. {AS_AIRFLOW}")
    return 1 if findings else 0

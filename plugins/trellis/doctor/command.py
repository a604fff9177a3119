"""`trellis doctor FOLDER`."""

import sys
from pathlib import Path

from trellis.doctor import smoke
from trellis.doctor.checks.permissions import AS_AIRFLOW
from trellis.doctor.examination import examine
from trellis.doctor.patient import Patient, read
from trellis.google_api import CredentialsError
from trellis.workflow.spec.problems import FileError


def run(folder: Path, with_jobs: bool = False) -> int:
    """Examine the project of a folder of DAG files; returns the exit code, 1 for findings.

    with_jobs: run two small jobs, too.
    """
    try:
        patient = Patient(*read(folder))
        caller = patient.caller
    except (FileError, CredentialsError) as error:
        print(error, file=sys.stderr)
        return 1
    group = patient.platform
    print(f"Project {group.project} in {group.region}, {len(patient.experiments)} experiments")
    print(f"as {caller}\n")
    findings = examine(patient, sys.stdout)
    if with_jobs:
        print()
        findings += smoke.run(patient, sys.stdout)
    print(f"\n{len(findings) or 'Nothing'} to mend. {AS_AIRFLOW}")
    return 1 if findings else 0

"""`trellis doctor FOLDER`."""

import sys
from pathlib import Path
from typing import Any

from trellis import command_line
from trellis.doctor.diagnoses.permissions import AS_AIRFLOW
from trellis.doctor.target import Target, read


def add(commands: Any) -> None:
    """The command's arguments. commands: argparse's subparsers."""
    doctor = commands.add_parser(
        "doctor", help="check that the project has what a run needs; exit code 1 for findings"
    )
    command_line.add_folder(doctor, "beside experiments/")
    doctor.add_argument(
        "--smoke",
        action="store_true",
        help="then run two small jobs, on Dataflow and Vertex AI (some minutes, some cents)",
    )
    doctor.set_defaults(handler=lambda options: run(options.folder, options.smoke))


def run(folder: Path, with_jobs: bool = False) -> int:
    """Check the project of a folder of DAG files; returns the exit code, 1 for findings.

    with_jobs: also run two small jobs.
    """
    # With Google's libraries, which take seconds to import, as other commands need not.
    from trellis.doctor import smoke
    from trellis.doctor.runner import diagnose

    target = Target(*read(folder))
    caller = target.caller
    group = target.platform
    print(f"Project {group.project} in {group.region}, {len(target.experiments)} experiments")
    print(f"as {caller}\n")
    findings = diagnose(target, sys.stdout)
    if with_jobs:
        print()
        findings += smoke.run(target, sys.stdout)
    print(f"\n{len(findings) or 'Nothing'} to fix. {AS_AIRFLOW}")
    return 1 if findings else 0

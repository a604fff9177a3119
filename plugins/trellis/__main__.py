"""The command `trellis` for authors of experiments; see `trellis --help`."""

import argparse
import os
import sys
from pathlib import Path

from trellis import endpoints, prices, try_model
from trellis.doctor import command as doctor
from trellis.google_api import SIGN_IN, CredentialsError, UnreachableError
from trellis.new import command as new
from trellis.new.described import DataError
from trellis.results import command as results
from trellis.results.notes import NoteError
from trellis.results.selection import NoRunError
from trellis.retention import command as retention
from trellis.workflow.assembly import chain
from trellis.workflow.pricing import cost, machines, services
from trellis.workflow.pricing import prediction as prediction_cost
from trellis.workflow.spec import editor_schema, reference
from trellis.workflow.spec.platform import FILE
from trellis.workflow.spec.problems import GUIDE, FileError, Problem
from trellis.workflow.spec.profile import Profile, named
from trellis.workflow.validation import platform
from trellis.workflow.validation.file import FOLDER, check_on, load, profiles_of
from trellis_contracts.catalog import load as load_catalog
from trellis_contracts.documents import ContractError
from trellis_contracts.program import page

DESCRIPTION = """\
Work on experiment files and their Google Cloud project.

  trellis reference                           list every key: meaning, unit, bounds and default
  trellis new experiment wine.csv             write an experiment file for data of your own
  trellis new experiment scans --table t.csv  the same for a folder of images that a table names
  trellis upload wine.csv research.wine       load a table or folder of images into Google Cloud
  trellis upload may.csv research.wine --append  add rows to a table, never twice
  trellis check dags/experiments/digits.yaml  report every problem of a file, and what a run costs
  trellis try dags/experiments/my_model.py    build a model of your own and train it on one batch
  trellis doctor dags                         list what the project on Google Cloud lacks
  trellis prices dags                         compare the tables of prices with Google's of today
  trellis contract                            what an image of your own is given, and must leave
  trellis schema                              JSON Schema of experiment files, for editors
  trellis runs                                list the runs of all experiments, with their winners
  trellis note digits/RUN "halved the rate"   name and annotate a run (--name)
  trellis compare digits/RUN digits/OTHER     scores with intervals, and parameters that differ
  trellis methods digits/RUN                  its methods section, model card, TRIPOD+AI checklist
  trellis export digits/RUN --to folder       its figures and tables as files
  trellis export-split digits/RUN --to folder its frozen rows, to train on them elsewhere
  trellis digest                              results and costs of the last week's runs
  trellis endpoints dags                      daily cost and use of endpoints
  trellis clean dags                          data and models that nobody needs any more
  trellis erase --group patient_17            rows of one group, and the models trained on them

docs/what-trellis-does-not-do.md: detection, forecasting, ..., and what to do instead.

In 2026 Vertex AI became part of Google's Gemini Enterprise Agent Platform, and Cloud Composer
became Managed Service for Apache Airflow. Messages keep the old names, as Google's APIs do.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="trellis",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser(
        "reference", help="print every key of experiment files and platform.yaml"
    ).set_defaults(handler=_reference)
    commands.add_parser(
        "schema", help="print the JSON Schema of experiment files, for editors"
    ).set_defaults(handler=_schema)
    commands.add_parser(
        "contract", help="print what an image of your own is given, and must leave"
    ).set_defaults(handler=_contract)
    check = commands.add_parser(
        "check",
        help="check experiment files; exit code 1 for problems",
        epilog=f"What no task learns, and what to do instead: {GUIDE}",
    )
    check.add_argument("files", nargs="+", type=Path, metavar="FILE")
    check.add_argument(
        "--platform",
        type=Path,
        metavar="FOLDER",
        help="folder of platform.yaml (default: the one above the experiment's)",
    )
    check.set_defaults(
        handler=lambda options: max(_check(f, options.platform) for f in options.files)
    )
    attempt = commands.add_parser(
        "try", help="try a model's own file on one batch; exit code 1 if it cannot be trained"
    )
    attempt.add_argument(
        "file", type=Path, metavar="FILE", help="the model's file, or an experiment's that names it"
    )
    for each in (doctor, prices, results, endpoints, retention, new):
        each.add(commands)
    options, more = parser.parse_known_args(arguments)
    if options.command == "try":
        # Flags of the trainer's command: --task, --dataset, hyperparameters.
        return try_model.run(options.file, more)
    if more:
        # By the command, whose usage says what it takes.
        commands.choices[options.command].error(f"unrecognized arguments: {' '.join(more)}")
    return _guarded(options)


# ImportError: of a library for figures, which not every installation has.
_MENDABLE = (
    *(FileError, DataError, NoRunError, NoteError),
    *(CredentialsError, UnreachableError, ContractError, ImportError),
)


def _guarded(options: argparse.Namespace) -> int:
    """Run a command; returns its exit code, or 1 after an error, which it prints."""
    try:
        code: int = options.handler(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader has what it wants (`| head`): what is left to flush goes nowhere, as in
        # https://docs.python.org/3/library/signal.html#note-on-sigpipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except _MENDABLE as error:
        print(error, file=sys.stderr)
    except Exception as error:
        # Google's libraries take a second to import, and most commands need none.
        from google.api_core.exceptions import GoogleAPICallError, RetryError
        from google.auth.exceptions import GoogleAuthError, TransportError
        from requests import RequestException

        if isinstance(error, RetryError | TransportError | RequestException):
            print(f"Google does not answer: {error}", file=sys.stderr)
        elif isinstance(error, GoogleAPICallError):
            print(f"Google refuses: {error.message}", file=sys.stderr)
        elif isinstance(error, GoogleAuthError):
            print(f"{error}\n{SIGN_IN}", file=sys.stderr)
        else:
            raise
    return 1


def _contract(_: argparse.Namespace) -> int:
    print(page.text())
    return 0


def _schema(_: argparse.Namespace) -> int:
    print(editor_schema.text(load_catalog()), end="")
    return 0


def _reference(_: argparse.Namespace) -> int:
    print("\n".join(reference.lines(load_catalog())))
    return 0


def _check(file: Path, folder: Path | None) -> int:
    try:
        if file.name == FILE:
            platform.read(file)
            print(f"{file}: good")
            return 0
        profiles = profiles_of(file)
    except FileError as error:
        print(error, file=sys.stderr)
        return 1
    return max(_check_with(profile, file, folder) for profile in profiles)


def _check_with(profile: Profile | None, file: Path, folder: Path | None) -> int:
    """Check one of the two forms of a file that has a section `local`."""
    try:
        experiment = load(file, profile=profile)
        if folder is None and file.absolute().parent.name != FOLDER:
            message = f"lies in no folder {FOLDER}/, so no DAG is made of it"
            raise FileError(str(file), [Problem((), message)])
        # Not resolved: a link is read where it is.
        group = platform.load(folder or file.absolute().parents[1])
        check_on(group, file, experiment, chain.at_most, profile)
    except FileError as error:
        print(error, file=sys.stderr)
        return 1
    serving = cost.serving(experiment, group.region)
    after = f"; serving costs {serving}" if serving else ""
    priced = {machines.table(group.region).region, services.table(group.region).region}
    if others := ", ".join(priced - {group.region}):
        print(f"{file}: prices are those of {others}, jobs run in {group.region}: trellis prices")
    name = named(file, profile)
    print(f"{name}: good; one run costs {chain.at_most(experiment, group)}{after}")
    if experiment.predict is not None:
        print(f"{name}: one prediction costs {prediction_cost.at_most(experiment, group)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The command for people who write experiments; see `python -m research --help`."""

import argparse
import sys
from pathlib import Path

from research import cost, platform, reference
from research.experiment import load
from research.prediction import cost as prediction_cost
from research.problems import FileError
from research.trainer_schema import load as load_schema

DESCRIPTION = """\
Look at experiment files without running anything.

  cd dags
  python -m research reference                      every key, what it means, what it takes
  python -m research check experiments/digits.yaml  all that is wrong with a file, at once
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m research",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("reference", help="print every key of an experiment file")
    check = commands.add_parser("check", help="check experiment files; exit code 1 if one is wrong")
    check.add_argument("files", nargs="+", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    if options.command == "reference":
        print("\n".join(reference.lines(load_schema())))
        return 0
    return max(_check(file) for file in options.files)


def _check(file: Path) -> int:
    try:
        experiment = load(file)
        group = platform.load()
        limit = cost.at_most(experiment, group)
        if experiment.deploy and experiment.deploy.private:
            group.private_network()
    except (FileError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except platform.PlatformError as error:
        print(f"{file}: {error}", file=sys.stderr)
        return 1
    serving = cost.serving(experiment)
    after = f"; serving costs {serving}" if serving else ""
    print(f"{file}: good; one run costs {limit}{after}")
    if experiment.predict:
        print(f"{file}: one prediction costs {prediction_cost.at_most(experiment)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Checks the files of predictions of a run (`baselines.files`) before any training is paid.

    python -m trainer.check_files --run gs://BUCKET/EXPERIMENT/runs/RUN/

`plan` has copied them to RUN/baselines/file-NAME/raw/. Each is read as the comparison reads it:
trainer.comparison.raw_predictions has the rules. Exit codes: 0 all can be scored on the dataset's
test split; 1 at least one cannot, each named with what is wrong, its keys in
RUN/examples/check_files.txt; 2 wrong flags.
"""

import argparse
import sys
from collections.abc import Sequence

from trainer import storage, withheld
from trainer.comparison import raw_predictions
from trainer.comparison.held_out_split import HeldOutSplitError, read_held_out_split
from trainer.comparison.run_folder import RunError, read_run
from trainer.prediction_checks import PredictionsError
from trainer.storage import StorageError
from trellis_contracts.dataset import DatasetError
from trellis_contracts.layout import FILE_BASELINE, RunFolder
from trellis_contracts.withheld import RowsError


class FilesError(RowsError, ValueError):
    """Files of predictions cannot be scored; the message names each, and what is wrong."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m trainer.check_files",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", required=True, metavar="URI", help="the run's folder")
    flags = parser.parse_args(arguments)
    try:
        checked = check(flags.run)
    except (FilesError, DatasetError, HeldOutSplitError, RunError, StorageError) as error:
        text = "\n".join(withheld.for_log(error, RunFolder(flags.run).examples_of("check_files")))
        print(f"trainer.check_files: {text}", file=sys.stderr)
        return 1
    print(f"{', '.join(checked)}: a prediction for each key of the test split.")
    return 0


def check(run_uri: str) -> list[str]:
    """Check all files of predictions of a run; returns their names. Raises FilesError."""
    run = read_run(run_uri)
    split = read_held_out_split(run.dataset_uri, run.dataset)
    given = run.plan.configuration["baselines"]["files"]
    refused = []
    for name, source in given.items():
        folder = storage.local_path(run.files.baseline(f"{FILE_BASELINE}{name}"))
        try:
            raw_predictions.read(folder / "raw", split)
        except (PredictionsError, HeldOutSplitError) as error:
            refused.append(f"baselines.files.{name}, {source}: {error.text}")
    if refused:
        raise FilesError("\n  ".join(["these predictions cannot be scored:", *refused]))
    return list(given)


if __name__ == "__main__":
    sys.exit(main())

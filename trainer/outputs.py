"""Checks what programs in an image of a group's own have left, before anything later is paid.

    python -m trainer.outputs --run gs://BUCKET/EXPERIMENT/runs/RUN/ --metric auc

Of each training, in a cross-validation of each fold's too: the files and their rules of
trellis_contracts.program.terms. The predictions are read and checked as those of a file of a
group's own are. Exit codes: 0 at least one training keeps all rules, as others failed by
themselves; 1 a rule is broken, each named with its file; 2 wrong flags.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from trainer import predictions, storage, withheld
from trainer.comparison import folds
from trainer.comparison.held_out_split import HeldOutSplit, HeldOutSplitError, read_held_out_split
from trainer.comparison.run_folder import Run, RunError, read_file, read_fold, read_run
from trainer.prediction_checks import PredictionsError
from trainer.storage import StorageError
from trellis_contracts import layout
from trellis_contracts.dataset import DatasetError
from trellis_contracts.folds import EVERYTHING, dataset
from trellis_contracts.layout import RunFolder
from trellis_contracts.program import terms
from trellis_contracts.training import Training
from trellis_contracts.withheld import RowsError


class OutputsError(RowsError, ValueError):
    """Outputs break a rule; the message names each file and rule."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m trainer.outputs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", required=True, metavar="URI", help="the run's folder")
    parser.add_argument("--metric", required=True, help="the metric that decides")
    flags = parser.parse_args(arguments)
    try:
        checked = check(flags.run, flags.metric)
    except (OutputsError, DatasetError, HeldOutSplitError, RunError, StorageError) as error:
        text = "\n".join(withheld.for_log(error, RunFolder(flags.run).examples_of("outputs")))
        print(f"trainer.outputs: {text}", file=sys.stderr)
        return 1
    print(f"{', '.join(checked)}: every rule is kept.")
    return 0


def check(run_uri: str, metric: str) -> list[str]:
    """Check all trainings of a run that left anything; returns their names. Raises OutputsError."""
    run = read_run(run_uri)
    left, broken = [], []
    for prefix, part in _parts(run):
        split, fingerprint = _predicted(part), part.trained_on.fingerprint
        for contender in part.contenders:
            if not storage.local_path(contender.uri).is_dir():
                continue
            left.append(f"{prefix}{contender.name}")
            broken += [
                f"{address}: {problem} (rule: {terms.RULES[rule]})"
                for address, rule, problem in problems(contender.uri, metric, fingerprint, split)
            ]
    if not left:
        raise OutputsError(f"no training of {run_uri} has left anything")
    if broken:
        raise OutputsError(
            "\n  ".join(["the program broke the contract (`trellis contract`):", *broken])
        )
    return left


def _parts(run: Run) -> Iterator[tuple[str, Run]]:
    """The run and each of its folds, with what the names of their trainings begin with."""
    yield "", run
    rule = folds.of_plan(run)
    for part in rule.parts if rule else ():
        yield f"folds/{part}/", read_fold(run, part)


def _predicted(run: Run) -> HeldOutSplit:
    """The split that a training has predicted."""
    if run.everything is None:
        return read_held_out_split(run.dataset_uri, run.dataset)
    address = dataset(run.dataset_uri, EVERYTHING)
    return read_held_out_split(address, run.everything, "validation")


def problems(
    uri: str, metric: str, fingerprint: str, split: HeldOutSplit
) -> Iterator[tuple[str, str, str]]:
    """Each broken rule of a training: the file, the rule's name in terms.RULES, and what is wrong.

    uri: of its folder. fingerprint, split: of the dataset that it was given.
    """
    for output in terms.OUTPUTS:
        if not _is_there(storage.local_path(f"{uri}{output.name}")):
            what = "holds no file" if output.name.endswith("/") else "is not there"
            yield f"{uri}{output.name}", "there", what
    yield from _predictions(uri, split)
    yield from _metrics(uri, metric, fingerprint)


def _is_there(path: Path) -> bool:
    return any(one.is_file() for one in path.rglob("*")) if path.is_dir() else path.is_file()


def _predictions(uri: str, split: HeldOutSplit) -> Iterator[tuple[str, str, str]]:
    address = layout.predictions(uri)
    try:
        split.outcome(predictions.read(storage.local_path(address)))
    except FileNotFoundError:
        return
    except (HeldOutSplitError, PredictionsError) as error:
        yield address, error.rule, error.text


def _metrics(uri: str, metric: str, fingerprint: str) -> Iterator[tuple[str, str, str]]:
    address = layout.metrics(uri)
    try:
        found = read_file(Training, address)
    except RunError as error:
        yield address, "metric", str(error)
        return
    if found is None:
        return
    if metric not in found.validation or "loss" not in found.validation:
        yield address, "metric", f"`validation` has no {metric}, or no loss"
    elif found.metric != metric:
        yield address, "metric", f"its metric is {found.metric}, and {metric} decides"
    if found.strategy != terms.PROGRAM:
        yield address, "strategy", f"`strategy` is {found.strategy!r}"
    if found.dataset.fingerprint != fingerprint:
        yield address, "dataset", f"{found.dataset.fingerprint}, and the run's is {fingerprint}"


if __name__ == "__main__":
    sys.exit(main())

"""Scores batch predictions on labels that arrived after them, with the leaderboard's intervals.

    python -m trainer.performance --rows gs://BUCKET/EXPERIMENT/predictions/RUN/labelled/ --output
        gs://BUCKET/EXPERIMENT/predictions/RUN/performance.json

The rows are Parquet files with one row for each prediction that has its label by now:

    run         string           the run of the DAG EXPERIMENT-predict that predicted
    trained     string           folder of the run that trained its model
    key         string           of the row, unique in a run
    label       string or double the true class, set of classes (a|b) or number
    prediction  string           the server's answer, as JSON
    unit        string           the row's group, if groups decide the dataset's split, else NULL

Every run of predictions is scored by itself, by all metrics of its task that are defined on its
rows.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow.parquet as pq

from trainer import label_sets, storage, withheld
from trainer.comparison.run_folder import RunError, read_file
from trainer.comparison.scoreboard import decimals, measured, metrics_for
from trainer.families import FAMILIES
from trainer.metrics.decision import Threshold
from trainer.metrics.groups import Groups
from trainer.prediction_checks import PredictionsError
from trellis_contracts.challenger import Challenger
from trellis_contracts.dataset import DatasetDescription, DatasetError
from trellis_contracts.layout import RunFolder
from trellis_contracts.performance import Performance, PerformanceFile
from trellis_contracts.plan import PlanFile
from trellis_contracts.tasks import REGRESSION, classes_in
from trellis_contracts.withheld import RowsError, some_of

_COLUMNS = ("run", "trained", "key", "label", "prediction", "unit")


class PerformanceError(RowsError, ValueError):
    """Predictions and labels cannot be scored; the message says which and why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m trainer.performance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", required=True, metavar="URI", help="folder of the rows")
    parser.add_argument("--output", required=True, metavar="URI", help="the file that is written")
    flags = parser.parse_args(arguments)
    try:
        found = score(flags.rows)
    except (PerformanceError, PredictionsError, DatasetError, RunError) as error:
        text = "\n".join(withheld.for_log(error, f"{flags.output}.examples.txt"))
        print(f"trainer.performance: {text}", file=sys.stderr)
        return 1
    storage.write_text(flags.output, PerformanceFile(found).to_json(flags.output))
    for run, scores in found.items():
        print(f"{run}: {scores.examples:,} labels, {', '.join(scores.metrics)}")
    return 0


def score(rows: str) -> dict[str, Performance]:
    """The scores of each run of predictions. rows: folder of the Parquet files.

    Raises PerformanceError, PredictionsError, DatasetError or RunError.
    """
    files = sorted(storage.local_path(rows).glob("*.parquet"))
    if not files:
        raise PerformanceError(f"{rows} has no Parquet files")
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for file in files:
        table = pq.read_table(file, columns=list(_COLUMNS))
        for name, values in columns.items():
            values += table[name].to_pylist()
    runs = np.array(columns["run"], dtype=object)
    return {
        str(run): _score({n: np.array(v, object)[runs == run] for n, v in columns.items()})
        for run in sorted(set(columns["run"]))
    }


def _score(rows: Mapping[str, np.ndarray]) -> Performance:
    """Score one run. rows: (n,) objects by column."""
    dataset, threshold = _model(str(rows["trained"][0]))
    family = FAMILIES[dataset.family]
    answers, labels = _answers(rows["prediction"], dataset), _labels(rows["label"], dataset)
    # Checks keys, labels and answers.
    family.predictions(dataset, rows["key"], labels, answers, threshold)
    groups = None
    if dataset.split.by is not None:
        if any(unit is None for unit in rows["unit"]):
            raise PerformanceError(
                f"rows have no value of '{dataset.split.by}', by which the split was made: an "
                "interval that takes them as independent would be too narrow"
            )
        groups = Groups.named(rows["unit"].astype(str))
    outcome = family.outcome(labels, answers, groups, threshold)
    metrics = list(metrics_for(dataset.family, dataset.classes).values())
    scores = measured(outcome, metrics, lambda metric: decimals(metric, labels))
    return Performance(len(labels), groups.count if groups else None, scores)


def _model(trained: str) -> tuple[DatasetDescription, Threshold | None]:
    """The dataset that a model learned from, and the threshold that it decides by."""
    folder = RunFolder(trained)
    plan = read_file(PlanFile, folder.plan)
    challenger = read_file(Challenger, folder.challenger)
    if plan is None or challenger is None:
        raise PerformanceError(f"{folder.plan} or {folder.challenger} was deleted")
    where = f"{plan.dataset.uri}dataset.json"
    dataset = DatasetDescription.from_json(storage.local_path(where).read_text(), where)
    if why := dataset.entry.unfit.get("predict.truth"):
        raise PerformanceError(why)
    if (named := challenger.threshold) is None:
        return dataset, None
    return dataset, Threshold.of(named.to_document(), dataset.classes)


def _answers(texts: np.ndarray, dataset: DatasetDescription) -> np.ndarray:
    """(n,) values, or (n, classes) probabilities in the dataset's order."""
    parsed = [orjson.loads(text) for text in texts]
    if dataset.family == REGRESSION:
        return np.array([one["value"] for one in parsed], np.float64)
    shares = [[one["probabilities"][name] for name in dataset.classes] for one in parsed]
    return np.array(shares, np.float32)


def _labels(found: np.ndarray, dataset: DatasetDescription) -> np.ndarray:
    """(n,) values, class indices or sets of classes."""
    if dataset.family == REGRESSION:
        return found.astype(np.float64)
    places = {name: place for place, name in enumerate(dataset.classes)}
    named = [classes_in(str(text), dataset.task) for text in found]
    if unknown := sorted({name for names in named for name in names} - set(places)):
        raise PerformanceError(
            f"labels that the model does not know: {some_of(unknown, 'class', 'classes')}"
        )
    indices = [[places[name] for name in names] for names in named]
    if dataset.is_multilabel:
        return np.array([label_sets.of(each) for each in indices], np.int64)
    return np.array([place for (place,) in indices], np.int64)


if __name__ == "__main__":
    sys.exit(main())

"""Scores batch predictions on labels that arrived after them, with the leaderboard's intervals.

    python -m trainer.performance --rows gs://BUCKET/EXPERIMENT/predictions/RUN/labelled/ --metric
        auc --output gs://BUCKET/EXPERIMENT/predictions/RUN/performance.json

The rows are Parquet files with one row for each prediction that has its label by now:

    run         string           the run of the DAG EXPERIMENT-predict that predicted
    trained     string           folder of the run that trained its model
    key         string           of the row, unique in a run
    label       string or double the true class, set of classes (a|b), number or time
    label_event int64            of a time to an event: 1 if it happened then, 0 if not until then
    prediction  string           the server's answer, as JSON
    unit        string           the row's group, if groups decide the dataset's split, else NULL

The key of an image is its address. Every run of predictions is scored by itself, by all metrics of
its task that are defined on its rows, and need no more than the server answers.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from trainer import storage, withheld
from trainer.comparison.run_folder import RunError, read_file
from trainer.comparison.scoreboard import (
    ScoringError,
    decimals,
    measured,
    metric_named,
    metrics_for,
)
from trainer.families import FAMILIES
from trainer.metrics.decision import Threshold
from trainer.metrics.groups import Groups
from trainer.prediction_checks import PredictionsError
from trellis_contracts.challenger import Challenger
from trellis_contracts.dataset import DatasetDescription, DatasetError
from trellis_contracts.layout import RunFolder
from trellis_contracts.metrics import UNSERVED
from trellis_contracts.performance import Performance, PerformanceFile
from trellis_contracts.plan import PlanFile
from trellis_contracts.withheld import RowsError


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
    parser.add_argument(
        "--metric", required=True, metavar="NAME", help="by which models are chosen"
    )
    parser.add_argument("--output", required=True, metavar="URI", help="the file that is written")
    flags = parser.parse_args(arguments)
    try:
        found = score(flags.rows, flags.metric)
    except (PerformanceError, PredictionsError, DatasetError, RunError, ScoringError) as error:
        text = "\n".join(withheld.for_log(error, f"{flags.output}.examples.txt"))
        print(f"trainer.performance: {text}", file=sys.stderr)
        return 1
    storage.write_text(flags.output, PerformanceFile(found).to_json(flags.output))
    for run, scores in found.items():
        print(f"{run}: {scores.examples:,} labels, {', '.join(scores.metrics)}")
    return 0


def score(rows: str, metric: str) -> dict[str, Performance]:
    """The scores of each run of predictions. rows: folder of the Parquet files. metric: name, as in
    an experiment's file.

    Raises PerformanceError, PredictionsError, DatasetError, RunError or ScoringError.
    """
    files = sorted(storage.local_path(rows).glob("*.parquet"))
    if not files:
        raise PerformanceError(f"{rows} has no Parquet files")
    table = pa.concat_tables(map(pq.read_table, files))
    columns = {name: np.array(table[name].to_pylist(), object) for name in table.column_names}
    runs = columns["run"]
    return {
        str(run): _score({name: values[runs == run] for name, values in columns.items()}, metric)
        for run in sorted(set(runs))
    }


def _score(rows: Mapping[str, np.ndarray], metric: str) -> Performance:
    """Score one run. rows: (n,) objects by column."""
    dataset, threshold = _model(str(rows["trained"][0]))
    family = FAMILIES[dataset.family]
    dataset = family.as_served(dataset)
    answers = family.of_responses(list(map(orjson.loads, rows["prediction"])), dataset)
    labels = family.of_rows(rows, dataset)
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
    outcome = family.outcome(labels, answers, groups, threshold, dataset.label)
    every = metrics_for(dataset.family, dataset.classes)
    metrics = [one for name, one in every.items() if name not in UNSERVED]
    scores = measured(outcome, metrics, lambda one: decimals(one, labels))
    primary = metric_named(metric, dataset.family, dataset.classes).name
    return Performance(len(labels), groups.count if groups else None, primary, scores)


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


if __name__ == "__main__":
    sys.exit(main())

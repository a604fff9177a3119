"""What must fit together in the section `predict`: with the source, the schedule and the prices."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from research import checks, cost
from research.machine_checks import machine_problems
from research.problems import Problem

if TYPE_CHECKING:
    from research.experiment import Experiment
    from research.prediction.section import Predict

_SOURCES = ("images", "bigquery", "query")
_FOLDER = re.compile(r"(gs://[a-z0-9][a-z0-9._-]+(/.*)?|(?!gs:)[^/].*)")


def problems(experiment: "Experiment") -> list[Problem]:
    """Everything that a look at one field alone does not show."""
    predict = experiment.predict
    if predict is None:
        return []
    return [
        *_source(experiment, predict),
        *_output(predict),
        *_machines(predict),
        *checks.schedule_problems(predict.schedule, ("predict", "schedule")),
    ]


def _source(experiment: "Experiment", predict: "Predict") -> Iterator[Problem]:
    given = [name for name in _SOURCES if getattr(predict, name) is not None]
    if len(given) != 1:
        found = f"got {' and '.join(given)}" if given else "nothing to predict"
        yield Problem(
            ("predict",),
            f"{found}; expected one of `images: FOLDER`, `bigquery: TABLE` and `query: SQL`",
        )
        return
    if predict.kind != experiment.source.kind:
        fitting = "`images`" if experiment.source.kind == "image" else "`bigquery` or `query`"
        yield Problem(
            ("predict", given[0]),
            f"the models of this experiment learn from {experiment.source.kind}s (source); "
            f"expected {fitting}",
        )
        return
    if predict.partition is not None and predict.kind == "image":
        yield Problem(
            ("predict", "partition"),
            "belongs to tables and queries; of images a run takes a day's by {date} in `images`",
        )
    if predict.bigquery is not None and not checks.TABLE.fullmatch(predict.bigquery):
        yield Problem(
            ("predict", "bigquery"),
            f"got {predict.bigquery!r}; expected DATASET.TABLE or PROJECT.DATASET.TABLE",
        )
    if predict.images is not None and not _FOLDER.fullmatch(predict.images):
        yield Problem(
            ("predict", "images"),
            f"got {predict.images!r}; expected a path in the group's bucket, or gs://BUCKET/FOLDER",
        )


def _output(predict: "Predict") -> Iterator[Problem]:
    if predict.output is None:
        return
    where = ("predict", "output")
    if predict.kind == "table" and not checks.TABLE.fullmatch(predict.output):
        yield Problem(
            where, f"got {predict.output!r}; expected DATASET.TABLE or PROJECT.DATASET.TABLE"
        )
    elif predict.kind == "image" and not _FOLDER.fullmatch(predict.output):
        yield Problem(
            where,
            f"got {predict.output!r}; expected a path in the group's bucket, or gs://BUCKET/FOLDER",
        )


def _machines(predict: "Predict") -> Iterator[Problem]:
    prices = cost.prices().serving
    return machine_problems(
        predict.machines,
        ("predict", "machines"),
        prices["machines"],
        prices["gpus"],
        "no limit to what it costs",
    )

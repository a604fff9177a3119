"""Validates what goes together with the folds of a cross-validation."""

from collections.abc import Iterator

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import Field as Where
from trellis.workflow.spec.problems import Problem
from trellis.workflow.spec.split import ColumnSplit, TimeSplit
from trellis_contracts.dataset import SPLITS

MOST_TRAININGS = 1000
"""Airflow makes at most 1,024 copies of a task (core.max_map_length)."""

_CHOSEN = {
    "decision": "a threshold",
    "abstain": "a limit of what it hands back",
    "coverage": "a limit of its sets or intervals",
}
"""Keys for a single number that a training chooses on its validation split."""


def problems(experiment: Experiment) -> Iterator[Problem]:
    """List the keys that do not go with folds."""
    train = experiment.train
    if experiment.folds is None:
        if train.repeats is not None:
            yield Problem(("train", "repeats"), "divides folds anew: name `folds`, or leave it out")
        return
    yield from _split(experiment)
    for where, given, why in _unfit(experiment):
        if given:
            yield Problem(where, f"{why}: leave it out")
    for name in ("tolerance", "improvement"):
        if experiment.deploy is not None and getattr(experiment.deploy.gate, name) is not None:
            message = "the served model has seen rows that `train.folds` test: write null"
            yield Problem(("deploy", "gate", name), message)
    if experiment.trainings > MOST_TRAININGS:
        yield Problem(
            ("train", "folds"),
            f"makes {experiment.trainings:,} trainings, at most {MOST_TRAININGS:,}: take fewer "
            "folds, `repeats`, `top` or models",
        )


def _split(experiment: Experiment) -> Iterator[Problem]:
    split, where = experiment.source.split, ("source", "split")
    if isinstance(split, TimeSplit | ColumnSplit):
        key = split.opening[0]
        why = "folds would learn from what is later" if key == "time" else "`train.folds` divide"
        yield Problem((*where, key), f"{why}: leave out `{key}`, or `train.folds`")
        return
    for name in sorted(split.model_fields_set & set(SPLITS)):
        message = "with `train.folds` one fold tests and the next one validates: leave it out"
        yield Problem((*where, name), message)


def _unfit(experiment: Experiment) -> Iterator[tuple[Where, object, str]]:
    """The place of each key that does not go with folds, what it has, and why not."""
    train, baselines = experiment.train, experiment.baselines
    several = "with `folds` there is a training for each, and `repeats` for more"
    yield ("train", "seeds"), train.seeds > 1, several
    yield ("train", "ensemble"), train.ensemble, "is the mean of one split's trainings"
    yield ("train", "start"), train.start, "the champion has seen rows that `folds` test"
    yield ("reuse",), experiment.reuse, "finds no results of `train.folds`"
    why = "AutoML cannot take part in `train.folds`, since it learns from one split"
    yield ("baselines", "automl"), baselines.automl, why
    why = "nobody knows which rows their models have seen, which `train.folds` tell apart"
    yield ("baselines", "files"), baselines.files, why
    for name, what in _CHOSEN.items():
        why = (
            f"with `train.folds` each fold's model has {what} of its own, and that of the model "
            "to deploy is tested on no row"
        )
        yield (name,), getattr(experiment, name), why

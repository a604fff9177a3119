"""Out-of-fold predictions: of every row, those of a model that has not seen it.

    RUN/folds/REPEAT-FOLD/     as RUN/, of one fold: trials.json, training/RANK/, baselines/NAME/
    RUN/folds/CONTENDER/       written here: predictions.parquet, its predictions of all folds

A cross-validation scores a procedure, not a model. In each fold the trials, their choice and the
choice among trainings are made again on the other folds (nested cross-validation: Varma & Simon,
BMC Bioinformatics 7, 2006), and the fold's predictions are those of the training that its own
validation split selects. Together they are the predictions of one contender, which has the name
of the run's selected training, the model to deploy: that model was trained on all rows but those of
its validation split, and has no score of its own. Baselines learn in the same folds.

Predictions of several repeats are scored together, and a row's are one group: intervals count rows,
or the groups that have the folds, not predictions. Models of different folds score rows that are
ranked together; where they are differently calibrated, AUC and average precision of all rows are
lower than those within folds, whose mean is beside them (Forman & Scholz, SIGKDD Explorations 12,
2010).
"""

import dataclasses
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trainer import predictions, storage
from trainer.comparison.baselines import with_baselines
from trainer.comparison.held_out_split import (
    HeldOutSplit,
    HeldOutSplitError,
    read_held_out_split,
)
from trainer.comparison.run_folder import Contender, Run, Served, read_file, read_fold
from trainer.comparison.scoreboard import Scoreboard
from trainer.comparison.selection import selected_training
from trainer.families import FAMILIES
from trainer.metrics.groups import Groups
from trainer.prediction_forms import AnyPredictions
from trellis_contracts import folds as contract
from trellis_contracts.cross_validation import CrossValidation, FoldChoice, Spread
from trellis_contracts.folds import Folds, numbers
from trellis_contracts.postprocessing import PLAIN
from trellis_contracts.served import Served as ServedFile

Unusable = Callable[[Contender, Run], str | None]
"""Says why a contender cannot be scored; None if it can."""


@dataclass(frozen=True)
class Fold:
    """One part. chosen: its selected training; None: there is none. reason: why."""

    part: str
    run: Run
    split: HeldOutSplit
    chosen: Contender | None
    reason: str | None

    def contender(self, name: str) -> tuple[Contender | None, str | None]:
        """A baseline of the fold, or why it cannot be scored."""
        found = next((c for c in self.run.contenders if c.name == name), None)
        reason = "it left nothing" if found is None else found.reason
        return (None, reason) if reason else (found, None)


@dataclass(frozen=True)
class Crossed:
    """A run whose contenders have out-of-fold predictions, and the rows that these are for."""

    run: Run
    split: HeldOutSplit
    folds: Folds
    every: tuple[Fold, ...]


def of_plan(run: Run) -> Folds | None:
    """The folds of a run; None: it has one split."""
    train = run.plan.configuration["train"]
    count = train.get("folds")
    return None if count is None else Folds(count, train.get("repeats", 1))


def read(run: Run, folds: Folds, unusable: Unusable) -> Crossed:
    """Read the files of all folds.

    The contenders of the result are the run's selected training and its baselines, and those of its
    trainings that failed. Raises HeldOutSplitError, RunError or DatasetError.
    """
    every = tuple(_fold(run, part, unusable) for part in folds.parts)
    split = _together(every)
    usable = [c for c in run.contenders if unusable(c, run) is None]
    selected = selected_training(usable, run.dataset.family)
    contenders = [c for c in run.contenders if c not in usable]
    for contender in usable:
        if contender.name == selected:
            chosen = [(fold, fold.chosen, fold.reason) for fold in every]
            contenders.append(_pooled(contender, chosen))
    for name in run.plan.baselines:
        name = f"baselines/{name}"
        uri = run.files.contender(name)
        own = Contender(name=name, kind=name.partition("/")[2].partition("-")[0], uri=uri)
        found = [(fold, *fold.contender(name)) for fold in every]
        contenders.append(_pooled(own, found))
    return Crossed(dataclasses.replace(run, contenders=contenders), split, folds, every)


def _fold(run: Run, part: str, unusable: Unusable) -> Fold:
    found = read_fold(run, part)
    split = read_held_out_split(found.dataset_uri, found.dataset)
    found = with_baselines(found, split)
    trainings = [c for c in found.contenders if c.kind == "training"]
    failures = {c.name: why for c in trainings if (why := unusable(c, found))}
    usable = [c for c in trainings if c.name not in failures]
    name = selected_training(usable, found.dataset.family)
    chosen = next((c for c in usable if c.name == name), None)
    listed = "; ".join(f"{name}: {why}" for name, why in failures.items())
    return Fold(part, found, split, chosen, None if chosen else listed or "it has no training")


def _pooled(
    contender: Contender, found: Sequence[tuple[Fold, Contender | None, str | None]]
) -> Contender:
    """The contender with the predictions of all folds, or with the reason why it has none: all rows
    are scored, or none.
    """
    own = dataclasses.replace(contender, predictions=None, uncalibrated=None)
    lacking = [f"fold {fold.part}: {why}" for fold, one, why in found if one is None]
    if lacking:
        more = f" (and {len(lacking) - 1} more folds)" if len(lacking) > 1 else ""
        return dataclasses.replace(own, reason=f"{lacking[0]}{more}")
    members = [(fold, one) for fold, one, _ in found if one is not None]
    try:
        for fold, one in members:
            fold.split.outcome(one.scorable)
    except HeldOutSplitError as error:
        return dataclasses.replace(own, reason=f"fold {fold.part}: {error}")
    costs = [one.cost_usd for _, one in members]
    seconds = [one.seconds for _, one in members]
    return dataclasses.replace(
        own,
        predictions=_joined(members),
        seconds=_sum([contender.seconds, *seconds] if contender.training else seconds),
        cost_usd=_sum([contender.cost_usd, *costs] if contender.training else costs),
        baseline=next((one.baseline for _, one in members), None),
        # Each fold's model has fitted its own calibration.
        postprocessing=PLAIN,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _joined(members: Sequence[tuple[Fold, Contender]]) -> AnyPredictions:
    """Predictions of all folds, for `_together`'s keys."""
    every = [(fold.part, one.scorable) for fold, one in members]
    dataset = members[0][0].run.dataset
    family = FAMILIES[dataset.family]
    return family.predictions(
        dataset,
        np.concatenate([_keys(found.keys, part) for part, found in every]),
        np.concatenate([found.labels for _, found in every]),
        np.concatenate([family.answers(found) for _, found in every]),
    )


def _keys(keys: np.ndarray, part: str) -> np.ndarray:
    """A row's key in a repeat, of which there is one for each of its predictions."""
    repeat, _ = numbers(part)
    if repeat == 1:
        return keys
    return np.array([f"{key} (repeat {repeat})" for key in keys], dtype=object)


def _together(every: Sequence[Fold]) -> HeldOutSplit:
    """The test splits of all parts as one, ordered by key."""
    splits = [fold.split for fold in every]
    keys = np.concatenate([_keys(fold.split.keys, fold.part) for fold in every])
    order = np.argsort(keys)
    rows = np.concatenate([split.keys for split in splits])[order]
    groups = [split.group_names for split in splits if split.group_names is not None]
    units = np.concatenate(groups)[order] if groups else rows
    repeated = len({*rows}) < len(rows)
    records = [place for split in splits for place in split.records]
    addresses = [address for split in splits for address in split.addresses]
    return HeldOutSplit(
        keys=keys[order],
        labels=np.concatenate([split.labels for split in splits])[order],
        classes=splits[0].classes,
        records=tuple(records[place] for place in order),
        groups=Groups.named(units) if groups or repeated else None,
        family=splits[0].family,
        addresses=tuple(addresses[place] for place in order) if addresses else (),
        rows=rows,
    )


def with_served(run: Run) -> Run:
    """The run with what is served, which is no contender: it may have learned from any row, as no
    model has a fold that it has not seen. Raises RunError if served.json is invalid.
    """
    found = read_file(ServedFile, run.files.served)
    if found is None:
        return run
    remark = None
    if found.model is not None:
        remark = (
            "The served model is not compared: it may have learned from any of these rows, and "
            "only what is trained in each fold can be scored on all of them."
        )
    served = Served(found.model, found.endpoint, None, remark)
    return dataclasses.replace(run, served=served)


def write(run: Run) -> None:
    """Write the out-of-fold predictions of each contender that has them."""
    for contender in run.contenders:
        if contender.predictions is not None:
            path = storage.local_path(run.files.out_of_fold(contender.name))
            path.parent.mkdir(parents=True, exist_ok=True)
            predictions.write(path, contender.predictions)


def facts(crossed: Crossed, scores: Scoreboard, deployed: Run) -> CrossValidation:
    """What the leaderboard says of the folds. deployed: the run with its own trainings."""
    scored = [standing.name for standing in scores.standings]
    by_name: dict[str, list[dict[str, float]]] = {name: [] for name in scored}
    choices = []
    for fold in crossed.every:
        for name in scored:
            one = fold.chosen if name.startswith("training/") else fold.contender(name)[0]
            if one is not None:
                by_name[name].append(_points(fold, one, scores))
        if fold.chosen is not None:
            choices.append(_choice(fold, fold.chosen))
    everything = contract.EVERYTHING
    trained_on = deployed.trained_on.counts
    return CrossValidation(
        count=crossed.folds.count,
        repeats=crossed.folds.repeats,
        rows=len({*crossed.split.row_keys}),
        deployed_on=crossed.folds.rule(everything),
        widening=round(scores.widening, 6),
        deployed_examples={name: counts.examples for name, counts in trained_on.items()},
        choices=tuple(choices),
        spread={name: _spreads(values, scores) for name, values in by_name.items()},
    )


def _points(fold: Fold, contender: Contender, scores: Scoreboard) -> dict[str, float]:
    outcome = fold.split.outcome(contender.scorable)
    return {
        name: value
        for name, metric in scores.metrics.items()
        if not math.isnan(value := metric.point(outcome))
    }


def _spreads(found: Sequence[Mapping[str, float]], scores: Scoreboard) -> dict[str, Spread]:
    """Mean and standard deviation over folds, of metrics that are defined in all."""
    spreads = {}
    for name, metric in scores.metrics.items():
        values = [figures[name] for figures in found if name in figures]
        if found and len(values) == len(found):
            places = scores.decimals(metric)
            spreads[name] = Spread(
                round(statistics.fmean(values), places),
                round(statistics.stdev(values), places),
                tuple(round(value, places) for value in values),
            )
    return spreads


def _choice(fold: Fold, chosen: Contender) -> FoldChoice:
    training = chosen.training
    if training is None:
        raise TypeError(f"{chosen.name} of fold {fold.part} has no metrics.json")
    trials = [trial for tuning in fold.run.tunings.values() for trial in tuning.trials]
    searched = {name for trial in trials for name in trial.parameters}
    return FoldChoice(
        part=fold.part,
        examples=len(fold.split),
        training=chosen.name,
        trial=chosen.trial,
        model=training.model,
        hyperparameters={n: v for n, v in chosen.parameters.items() if n in searched},
        best_epoch=training.best_epoch,
        validation={training.metric: training.best},
    )

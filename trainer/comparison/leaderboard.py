"""leaderboard.json and its table in the terminal.

leaderboard.schema.json of trellis_contracts describes every field. The file does not depend on the
time: the same run and the same image give the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Any

from trainer.comparison import bootstrap, learned, provenance
from trainer.comparison.intervals import LEVEL, method
from trainer.comparison.notes import (
    notes,
    of_data,
    of_folds,
    of_held_out,
    of_learning,
    of_slices,
    reused,
    started,
)
from trainer.comparison.promotion import Decision
from trainer.comparison.run_folder import Contender, Run
from trainer.comparison.scoreboard import Scoreboard
from trainer.metrics.outcome import AnyOutcome
from trellis_contracts import leaderboard
from trellis_contracts.baseline import Baseline
from trellis_contracts.challenger import Versions
from trellis_contracts.cross_validation import CrossValidation
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.leaderboard import (
    BaselineFacts,
    ComparedOn,
    Estimate,
    Importance,
    Leaderboard,
    Metric,
    Repeats,
    Slices,
    TrainingFacts,
    Uncertainty,
)
from trellis_contracts.training import Training

_NONE: Mapping[str, Any] = {}


def of(
    run: Run,
    outcomes: Mapping[str, AnyOutcome],
    scores: Scoreboard,
    selected: str | None,
    failures: Mapping[str, str],
    decision: Decision | None,
    repeats: Repeats | None = None,
    importance: Importance | None = None,
    slices: Slices | None = None,
    postprocessed: Mapping[str, Mapping[str, Any]] = _NONE,
) -> Leaderboard:
    """The leaderboard of a run.

    outcomes, scores: of the contenders that were scored. selected: the training that competes.
    failures: reason by name, of the others. decision: None without a deploy section.
    repeats, importance, slices: of the selected training, if the experiment asks for any; of a
    table.
    postprocessed: fields of TrainingFacts by name, what trainings have chosen on validation.
    """
    plan, dataset = run.plan, run.dataset
    standings = scores.standings
    contenders = {contender.name: contender for contender in run.contenders}
    idle = learned.findings(scores)
    ranked = [
        _contender(
            contenders[s.name],
            postprocessed.get(s.name, {}),
            status="ok",
            rank=s.rank,
            selected=s.name == selected if contenders[s.name].kind == "training" else None,
            metrics=s.metrics,
            difference=s.difference,
            learned_nothing=idle.get(s.name),
        )
        for s in standings
    ]
    failed = [
        _contender(contenders[name], status="failed", reason=reason, metrics={})
        for name, reason in failures.items()
    ]
    scored = next(iter(outcomes.values()))
    groups = scored.groups
    remarks = [run.served.remark] if run.served and run.served.remark else []
    remarks += [*started(contenders, scores), *reused(plan.reuse.steps)]
    remarks += of_held_out(ranked)
    remarks = [
        *of_slices(slices, scores.primary, scores.decimals(scores.primary)),
        *of_learning(idle, contenders, scores, selected),
        *of_data(dataset.warnings),
        *notes(
            outcomes,
            scores,
            len(failed),
            selected,
            dataset.classes,
            dataset.split.by,
            repeats,
            _rows_of_folds(run),
        ),
        *remarks,
    ]
    return Leaderboard(
        experiment=plan.experiment,
        run=run.name,
        run_id=plan.run_id,
        created=plan.created,
        data_interval=plan.data_interval,
        task=_task(dataset),
        dataset=ComparedOn(
            uri=run.dataset_uri,
            fingerprint=dataset.fingerprint,
            label=dataset.label.column,
            features=len(dataset.features),
            classes=dataset.classes,
            examples={split: counts.examples for split, counts in dataset.counts.items()},
            rejected=dataset.rejected,
        ),
        positive=dataset.positive,
        primary_metric=scores.primary.name,
        metrics={
            metric.name: Metric(
                title=metric.title,
                average=metric.average,
                goal=metric.goal,
                description=metric.description,
                interval=method(metric, scored),
                difference_interval=metric.difference_interval,
                decimals=scores.decimals(metric),
                chance=scores.chance(metric),
            )
            for metric in scores.metrics.values()
        },
        uncertainty=Uncertainty(
            level=LEVEL,
            comparisons=scores.comparisons,
            difference_level=round(scores.difference_level, 6),
            resamples=bootstrap.RESAMPLES,
            seed=bootstrap.SEED,
            groups=groups.count if groups else None,
        ),
        provenance=Versions(provenance.versions(run), provenance.code_sha256()),
        notes=tuple(remarks),
        winner=standings[0].name,
        promotion=decision.published() if decision else None,
        contenders=(*ranked, *failed),
        repeats=repeats,
        importance=importance,
        slices=slices,
    )


def with_folds(board: Leaderboard, folds: CrossValidation) -> Leaderboard:
    """The leaderboard of a cross-validation, whose out-of-fold predictions it has scored."""
    selected = board.selected.name if board.selected else None
    return replace(board, folds=folds, notes=(*of_folds(folds, selected), *board.notes))


def _rows_of_folds(run: Run) -> int | None:
    """How many rows the folds test, which are all; None: there is a test split."""
    if run.plan.configuration["train"].get("folds") is None:
        return None
    return sum(counts.examples for counts in run.dataset.counts.values())


def _task(dataset: DatasetDescription) -> str:
    """The task of a table as in its columns.json; that of images by the number of classes."""
    if dataset.task:
        return dataset.task
    return f"{'binary' if len(dataset.classes) == 2 else 'multiclass'}_classification"


def _contender(
    contender: Contender, postprocessed: Mapping[str, Any] = _NONE, **result: Any
) -> leaderboard.Contender:
    """result: what the comparison found."""
    return leaderboard.Contender(
        name=contender.name,
        kind=contender.kind,
        trial=contender.trial,
        hyperparameters=dict(contender.parameters),
        training=_training(contender.training, postprocessed) if contender.training else None,
        baseline=_baseline(contender.baseline) if contender.baseline else None,
        seconds=None if contender.seconds is None else round(contender.seconds, 1),
        cost_usd=None if contender.cost_usd is None else round(contender.cost_usd, 4),
        uri=contender.uri,
        **result,
    )


def _training(training: Training, postprocessed: Mapping[str, Any]) -> TrainingFacts:
    """The fields of metrics.json that the leaderboard shows."""
    return TrainingFacts(
        model=training.model,
        parameters=training.parameters,
        seed=training.seed,
        start=training.start,
        strategy=training.strategy,
        epochs_run=training.epochs_run,
        best_epoch=training.best_epoch,
        validation={training.metric: training.best},
        threshold=training.threshold,
        # A model of another library than Keras has one process.
        replicas=len(training.replicas or (None,)),
        weights_sha256=training.weights_sha256,
        **postprocessed,
    )


def _baseline(baseline: Baseline) -> BaselineFacts:
    """What a service trained and what it left out."""
    return BaselineFacts(
        baseline.model,
        baseline.options,
        baseline.features_left_out,
        _scalars(baseline.evaluation),
    )


def _scalars(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The single values of a service's evaluation: no curves, matrices or NaN."""
    return {
        name: value
        for name, value in figures.items()
        if isinstance(value, bool | int | str) or (isinstance(value, float) and isfinite(value))
    }


def table(board: Leaderboard) -> str:
    """The leaderboard as plain text, for a terminal or a job's log: the ranking, then every metric
    by name, with the contenders' ranks as heads, and what chance scores.
    """
    ranked = [c for c in board.contenders if c.status == "ok"]
    title = board.primary.title
    rows = [["", "", "contender", f"{title} [{board.uncertainty.level:.0%} interval]"]]
    rows += [
        [
            str(c.rank),
            _mark(c, board),
            c.name,
            _with_interval(c.metrics[board.primary_metric], board.primary.shown_decimals),
        ]
        for c in ranked
    ]
    failed = [
        f"-  {contender.name}  failed: {contender.reason}"
        for contender in board.contenders
        if contender.status != "ok"
    ]
    better = "larger" if board.primary.goal == "maximize" else "smaller"
    classes = board.dataset.classes
    positive = f", positive is {board.positive}" if board.positive else ""
    tested = f"{board.dataset.examples['test']:,} test examples"
    if board.folds:
        tested = f"{board.folds.rows:,} examples out of fold"
    heading = (
        f"{board.experiment}, {board.run}: {tested}, "
        f"{f'{len(classes)} classes' if classes else board.task.replace('_', ' ')}{positive}, "
        f"ranked by {title} ({better} is better)"
    )
    notes = [f"Note: {note}" for note in board.notes]
    notes += [line for c in ranked if c.training for line in _held_out(c, c.training, board)]
    if promotion := board.promotion:
        verdict = "Promoted" if promotion.promoted else "Not promoted"
        notes.append(f"{verdict}: {promotion.reason}.")
    lines = [heading, "", *_aligned(rows), *failed, "", *_aligned(_by_metric(board, ranked)), ""]
    if board.slices:
        lines += [*_aligned(_by_slice(board, board.slices)), ""]
    return "\n".join([*lines, *notes])


def _held_out(
    contender: leaderboard.Contender, training: TrainingFacts, board: Leaderboard
) -> Iterator[str]:
    """Lines on what a training has chosen on the validation split."""
    name, shown = contender.name, partial(_with_interval, places=3)
    if (found := training.calibration) is not None:
        changes = "; ".join(
            f"{board.metrics[metric].title} {_with_interval(before, places)} before, "
            f"{_with_interval(contender.metrics[metric], places)} after"
            for metric, before in found.before.items()
            for places in [board.metrics[metric].shown_decimals]
        )
        how = found.method if found.temperature is None else f"temperature {found.temperature:.3g}"
        yield f"Calibrated: {name} by {how}, on {found.examples:,} validation examples: {changes}."
    if (decided := training.decision) is not None and (cost := decided.cost) is not None:
        yield (
            f"Cost: {name} costs {shown(cost.model)} for each example, {shown(cost.at_half)} at a "
            f"half; {cost.all:.3f} if all are decided as {board.positive}, {cost.none:.3f} if none."
        )
    if (handed := training.abstention) is not None:
        yield (
            f"Handed back: {name} answers {shown(handed.answered)} of the test examples, and is "
            f"wrong on {shown(handed.risk)} of these; of all it would be on "
            f"{shown(handed.risk_of_all)}."
        )
    if (sets := training.conformal) is not None:
        kind = f"sets of {sets.size:.3g} classes" if sets.of_class else f"width {sets.size:.4g}"
        yield (
            f"Coverage: {name} has the truth in {shown(sets.reached)} of its sets or intervals, "
            f"{sets.coverage:g} asked for; {kind} on average."
        )


def _with_interval(estimate: Estimate, places: int) -> str:
    return f"{estimate.value:.{places}f} [{estimate.low:.{places}f}, {estimate.high:.{places}f}]"


def _by_metric(board: Leaderboard, ranked: Sequence[leaderboard.Contender]) -> list[list[str]]:
    rows = [["metric", "better", *(f"#{c.rank}" for c in ranked), "chance"]]
    for name, metric in board.metrics.items():
        values = [c.metrics[name].value if name in c.metrics else None for c in ranked]
        better = "larger" if metric.goal == "maximize" else "smaller"
        places = metric.shown_decimals
        cells = ["-" if v is None else f"{v:.{places}f}" for v in [*values, metric.chance]]
        rows.append([metric.title, better, *cells])
    return rows


def _by_slice(board: Leaderboard, slices: Slices) -> list[list[str]]:
    name, places = board.primary_metric, board.primary.shown_decimals
    rows = [["slice", "examples", f"{board.primary.title} of {slices.of}", "gap to the others"]]
    for one in slices.slices:
        found = one.metrics[slices.of].get(name)
        gap = "-" if one.judged else "not judged"
        rows.append(
            [
                one.name,
                f"{one.examples:,}",
                _with_interval(found, places) if found else "-",
                _with_interval(one.gap, places) if one.gap else gap,
            ]
        )
    return rows


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _mark(contender: leaderboard.Contender, board: Leaderboard) -> str:
    """* for the winner, - for a training that does not compete."""
    if contender.name == board.winner:
        return "*"
    return "-" if contender.selected is False else ""

"""Decides whether a run's training is promoted: the gate of the deploy section.

    allow: [trainings]       beside the gate: contenders that may be deployed
    gate:
      require: {auc: 0.95}   bounds for any metric of the leaderboard: lower bounds, or upper bounds
                             if it is minimized; a classification's "loss" is the log loss;
                             horizon_auc@365 is at that horizon
      beat: baselines        or nothing
      margin: 0.0            its lead over each baseline must exceed it
      tolerance: 0.0         how much worse than the served model it may be; null: not compared
      recall: 0.0            each class with at least 10 test examples must have a recall above it;
                             null: not checked. Accuracy hides a rare class that is never found
      learned: true          it must have learned something, by `learned`: the order
                             alone promotes no model whose predictions are constant
      improvement: null      its lead over the served model must exceed it; null: no lead is needed
      slices: {auc: 0.8}     bounds as in `require`, in each slice with enough examples
      slices_gap: null       how much worse than on all other examples it may be in a slice, by the
                             primary metric; null: not checked

The challenger is the training that the validation split selected or, if `deploy.allow` names
services, whichever of it and their models is ranked first (`selection.challenger`): these compete,
and are no baselines to beat. The challenger beats another contender if the lower end of the
interval of the difference in the primary metric, with the sign that makes positive better, is above
the margin (or improvement): a lead that is significant on the test split. All these intervals hold
together with 95% confidence. Bounds and the tolerance use the published values. A gap is beyond its
limit if its whole interval is: of many small slices one is far below the others by chance. If no
slice can be judged, a check of slices fails.

A baseline that could not be scored is listed but does not block the promotion: the outage of a
service must not stop deployments. A served model that could not be scored does block it, because
the loss would be unknown.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trainer.comparison.learned import nothing
from trainer.comparison.run_folder import Run, Served
from trainer.comparison.scoreboard import Scoreboard, metric_named
from trainer.comparison.selection import TRAININGS
from trainer.metrics.outcome import ClassOutcome
from trellis_contracts.leaderboard import (
    Check,
    Estimate,
    Promotion,
    ServedModel,
    Slice,
    Slices,
)
from trellis_contracts.slices import FEW

BASELINES = ("bqml", "automl", "file")

# Classes or slices that a check names.
_SHOWN = 5


@dataclass(frozen=True)
class Gate:
    """The conditions for a promotion; see the module's docstring. None: no such comparison."""

    require: Mapping[str, float] = field(default_factory=dict)
    beat_baselines: bool = True
    margin: float = 0.0
    tolerance: float | None = 0.0
    improvement: float | None = None
    recall: float | None = None
    learned: bool = True
    slices: Mapping[str, float] = field(default_factory=dict)
    slices_gap: float | None = None
    allow: Sequence[str] = (TRAININGS,)

    @classmethod
    def of(cls, deploy: Mapping) -> "Gate":
        """The gate of a deploy section as in plan.json, with defaults filled in."""
        gate = deploy["gate"]
        return cls(
            # Absent of older plans.
            allow=tuple(deploy.get("allow", (TRAININGS,))),
            require=gate["require"],
            # A run without baselines has no such key.
            beat_baselines=gate.get("beat") == "baselines",
            margin=gate["margin"],
            tolerance=gate["tolerance"],
            # Absent unless the file asks for one.
            improvement=gate.get("improvement"),
            # Absent of a regression.
            recall=gate.get("recall"),
            learned=gate["learned"],
            # Absent of older plans.
            slices=gate.get("slices", {}),
            slices_gap=gate.get("slices_gap"),
        )


@dataclass(frozen=True)
class Decision:
    """The gate's decision. challenger: None if no training could be scored.

    left_out: baselines that could not be scored. served: what the endpoint serves; None if nothing
    is served or it is unknown.
    """

    challenger: str | None
    checks: Sequence[Check]
    left_out: Sequence[str]
    served: Served | None

    @property
    def promoted(self) -> bool:
        """True if there is a challenger that passed every check."""
        return self.challenger is not None and all(check.passed for check in self.checks)

    @property
    def reason(self) -> str:
        """The reason for the decision, a sentence without a full stop."""
        if self.challenger is None:
            return "nothing that may be deployed (deploy.allow) could be scored"
        count = len(self.checks)
        failed = [check for check in self.checks if not check.passed]
        if failed:
            names = ", ".join(check.check for check in failed)
            reason = f"{self.challenger} fails {len(failed)} of {count} checks: {names}"
            if len(failed) == 1:
                reason += f" ({failed[0].detail})"
        elif count:
            passed = f"all {count} checks" if count > 1 else "the only check"
            reason = f"{self.challenger} passes {passed}"
        else:
            reason = f"{self.challenger} competes, and the gate has no checks"
        if self.left_out:
            reason += f"; not compared because it could not be scored: {', '.join(self.left_out)}"
        return reason

    def published(self) -> Promotion:
        """The decision as leaderboard.json has it."""
        served = ServedModel(str(self.served.model), self.served.endpoint) if self.served else None
        checks = tuple(self.checks)
        return Promotion(self.challenger, self.promoted, self.reason, checks, served)


def decide(
    gate: Gate,
    run: Run,
    board: Scoreboard,
    challenger: str | None,
    failures: Mapping[str, str],
    slices: Slices | None = None,
) -> Decision:
    """Apply the gate to the challenger; None if there is none.

    board: of the contenders that could be scored. failures: reason by name of the others. slices:
    of the challenger, if the experiment names any. Raises ScoringError if the gate requires a
    metric that the leaderboard does not have.
    """
    kinds = {contender.name: contender.kind for contender in run.contenders}
    served = run.served if run.served and run.served.model else None
    if challenger is None:
        return Decision(None, (), (), served)
    checks = [
        *_bounds(gate, challenger, board),
        *_recall(gate, run, challenger, board),
        *_learned(gate, challenger, board),
        *_slices(gate, challenger, board, slices.slices if slices else ()),
        *_gaps(gate, board, slices.slices if slices else ()),
    ]
    left_out = []
    if gate.beat_baselines:
        hurdles = set(BASELINES) - set(gate.allow)
        baselines = [name for name, kind in kinds.items() if kind in hurdles]
        scored = [name for name in baselines if name not in failures]
        left_out = [name for name in baselines if name in failures]
        for name in scored:
            beaten = f"beats {name}{_more(gate.margin)}"
            checks.append(_leads(beaten, gate.margin, challenger, name, board))
    if run.served is None or served:
        contender = served.contender if served else None
        checks += _against_served(gate, challenger, contender, board, failures)
    return Decision(challenger, checks, left_out, served)


def _bounds(gate: Gate, challenger: str, board: Scoreboard) -> Iterator[Check]:
    for name, bound in gate.require.items():
        metric = metric_named(name, board.family, board.classes)
        which = "at least" if metric.sign > 0 else "at most"
        condition = f"{metric.title} {which} {bound}"
        if score := board.score(challenger, metric):
            held = metric.sign * score.value >= metric.sign * bound
            places = _places(board.decimals(metric), score.value, bound)
            yield Check(condition, held, f"{metric.title} {_text(score, places)}")
        else:
            yield Check(condition, False, f"{metric.title} is undefined on this test split")


def _recall(gate: Gate, run: Run, challenger: str, board: Scoreboard) -> Iterator[Check]:
    """Check that every class that is frequent enough to tell is recognized."""
    outcome = board.outcome(challenger)
    if gate.recall is None or not isinstance(outcome, ClassOutcome):
        return
    classes = run.dataset.classes
    recalls = outcome.recalls(FEW)
    if not recalls:
        return
    low = {c: counts for c, counts in recalls.items() if counts[0] <= gate.recall * counts[1]}
    shown = list((low or recalls).items())
    texts = [f"{classes[c]}: {found} of {total}" for c, (found, total) in shown]
    listed = _some(texts if low else texts[:1], " classes")
    yield Check(
        f"recall of every class above {gate.recall:g}",
        not low,
        f"{'' if low else 'lowest is '}{listed} test examples recognized",
    )


def _learned(gate: Gate, challenger: str, board: Scoreboard) -> Iterator[Check]:
    """The check that fails if it has learned nothing; a model that has is not worth a line."""
    why = nothing(challenger, board) if gate.learned else None
    if why:
        yield Check(
            "has learned something",
            False,
            f"{why}; `learned: false` in deploy's gate lets the other checks decide alone",
        )


def _slices(
    gate: Gate, challenger: str, board: Scoreboard, slices: Sequence[Slice]
) -> Iterator[Check]:
    """Check the bounds of metrics in every slice that has enough examples."""
    for name, bound in gate.slices.items():
        metric = metric_named(name, board.family, board.classes)
        which = "at least" if metric.sign > 0 else "at most"
        condition = f"{metric.title} {which} {bound} in every slice"
        scored = [
            (one, one.metrics[challenger][metric.name])
            for one in slices
            if one.judged and metric.name in one.metrics[challenger]
        ]
        scored.sort(key=lambda found: metric.sign * found[1].value)
        short = [found for found in scored if metric.sign * (found[1].value - bound) < 0]
        decimals = board.decimals(metric)
        texts = [
            _in_slice(one, _text(score, _places(decimals, score.value, bound)))
            for one, score in short or scored[:1]
        ]
        yield _of_slices(condition, [one for one, _ in short], texts, scored, slices)


def _gaps(gate: Gate, board: Scoreboard, slices: Sequence[Slice]) -> Iterator[Check]:
    """Check that no gap is certainly beyond the limit."""
    if gate.slices_gap is None:
        return
    metric, limit = board.primary, gate.slices_gap
    condition = f"{metric.title} in no slice worse than in the others{_more(limit)}"
    gaps = [(one, one.gap) for one in slices if one.gap]
    gaps.sort(key=lambda found: metric.sign * found[1].value)

    def at_least(gap: Estimate) -> float:
        """How much worse it is at the better end of the interval."""
        return -gap.high if metric.sign > 0 else gap.low

    wide = [found for found in gaps if at_least(found[1]) > limit]
    decimals = board.decimals(metric)
    texts = [
        _in_slice(one, _text(gap, _places(decimals, at_least(gap), limit), True))
        for one, gap in wide or gaps[:1]
    ]
    yield _of_slices(condition, [one for one, _ in wide], texts, gaps, slices)


def _in_slice(one: Slice, score: str) -> str:
    return f"{one.name}: {score} on {one.examples:,} examples"


def _of_slices(
    condition: str,
    failed: Sequence[Slice],
    texts: Sequence[str],
    judged: Sequence[tuple[Slice, Estimate]],
    slices: Sequence[Slice],
) -> Check:
    """texts: of the failed slices, or of the worst one; none: no slice could be judged."""
    passed = bool(texts) and not failed
    known = {one.name for one, _ in judged}
    names = [f"{one.name} ({one.examples:,})" for one in slices if one.name not in known]
    shown = [f"{'' if failed else 'worst is '}{_some(texts)}"] if texts else []
    shown += [f"not judged, with their examples: {_some(names)}"] if names else []
    if failed:
        condition += f" (failed in {_some([one.name for one in failed])})"
    return Check(condition, passed, "; ".join(shown))


def _some(names: Sequence[str], what: str = "") -> str:
    """what: of which there are more than are named."""
    more = f" and {len(names) - _SHOWN} more{what}" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _leads(condition: str, margin: float, challenger: str, other: str, board: Scoreboard) -> Check:
    """Check that the whole interval of the challenger's lead over the other is above the margin."""
    lead = board.lead(challenger, other)
    places = _places(board.decimals(board.primary), lead.low, margin)
    return Check(condition, lead.low > margin, _ahead(challenger, other, lead, board, places))


def _more(margin: float) -> str:
    return f" by more than {margin}" if margin else ""


def _against_served(
    gate: Gate,
    challenger: str,
    served: str | None,
    board: Scoreboard,
    failures: Mapping[str, str],
) -> Iterator[Check]:
    """served: the contender that is the served model; None if that is unknown."""
    for key, bound in (("tolerance", gate.tolerance), ("improvement", gate.improvement)):
        if bound is None:
            continue
        if key == "tolerance":
            allowed = f"at most {bound} worse than" if bound else "no worse than"
            condition = f"{board.primary.title} {allowed} the served model's"
        else:
            condition = f"improves on the served model{_more(bound)}"
        if served is None or served in failures:
            yield Check(condition, False, _incomparable(served, failures, key))
        elif served == challenger:
            # The run may be compared again after its deployment.
            yield Check(condition, True, f"{challenger} is already the served model")
        elif key == "tolerance":
            yield _no_worse(condition, bound, challenger, served, board)
        else:
            yield _leads(condition, bound, challenger, served, board)


def _no_worse(
    condition: str, tolerance: float, challenger: str, served: str, board: Scoreboard
) -> Check:
    lead = board.lead(challenger, served)
    places = _places(board.decimals(board.primary), lead.value, -tolerance)
    detail = _ahead(challenger, served, lead, board, places)
    return Check(condition, lead.value >= -tolerance, detail)


def _incomparable(served: str | None, failures: Mapping[str, str], key: str) -> str:
    """Return why there is no comparison with the served model, and what to do."""
    if served is None:
        return (
            "the served model is unknown because the run has no served.json; clear the task "
            f"`served` to compare again, or set {key}: null to skip this comparison"
        )
    return (
        f"the served model could not be scored: {failures[served]}; undeploy it if it is no longer "
        f"needed, or set {key}: null in deploy's gate to skip this comparison"
    )


def _ahead(challenger: str, other: str, lead: Estimate, board: Scoreboard, places: int) -> str:
    metric = board.primary
    scores = {s.name: s.metrics[metric.name].value for s in board.standings}
    return (
        f"{metric.title} {scores[challenger]:,.{places}f} to {scores[other]:,.{places}f}: "
        f"ahead by {_text(lead, places, signed=True)}"
    )


def _places(decimals: int, value: float, bound: float) -> int:
    """Decimals to show: two fewer than published, but enough to distinguish the value from the
    bound.
    """
    places = max(0, decimals - 2)
    while places < decimals and value != bound and round(value, places) == round(bound, places):
        places += 1
    return places


def _text(estimate: Estimate, places: int, signed: bool = False) -> str:
    plus = "+" if signed else ""
    value, low, high = (
        f"{number:{plus},.{places}f}" for number in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} [{low}, {high}]"

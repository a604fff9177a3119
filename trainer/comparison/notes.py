"""Caveats of the ranking, in sentences.

The notes are in leaderboard.json, below the table in the terminal and at the top of the report.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trainer.comparison import learned
from trainer.comparison.run_folder import Contender
from trainer.comparison.scoreboard import Scoreboard, Standing
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import AnyOutcome, ClassOutcome, of_kind
from trainer.metrics.regression import ValueOutcome
from trellis_contracts import leaderboard
from trellis_contracts.cross_validation import CrossValidation
from trellis_contracts.leaderboard import Repeats, Slices
from trellis_contracts.slices import FEW
from trellis_contracts.tasks import MULTILABEL

# A split below this is called small: one example is more than a tenth of a percentage point.
SMALL_SPLIT = 1000
# An example with at least this share of the squared error dominates the RMSE of a small split.
_HEAVY = 0.2
_NAMED = 8
_WARNINGS = 3


def notes(
    outcomes: Mapping[str, AnyOutcome],
    scores: Scoreboard,
    failed: int,
    selected: str | None,
    classes: Sequence[str],
    by: str | None = None,
    repeats: Repeats | None = None,
    rows: int | None = None,
) -> list[str]:
    """Sentences about the selection, seeds, groups, a small test split, rare classes and failures.

    failed: how many contenders could not be scored. selected: the training that competes. classes:
    empty for a regression, which has fewer notes. by: what the groups of the test split are.
    repeats: of the selected training, if there are any. rows: tested by all folds
    together; None: there is a test split.
    """
    of_classes = {n: o for n, o in outcomes.items() if isinstance(o, ClassOutcome)}
    competing = [s for s in scores.standings if s.name not in scores.not_selected]
    found = [
        _unrecognized(of_classes, competing, classes) if of_classes else None,
        _selection(selected, len(scores.not_selected)),
        _seeds(repeats, scores) if repeats else None,
        _optimism(competing),
        _groups(next(iter(outcomes.values())), by, rows),
        _small_split(of_classes, rows) if of_classes else _small_numbers(outcomes, rows),
        _close_race(competing, scores.primary),
        _rare_classes(of_classes, classes) if of_classes else None,
        f"{failed} of {failed + len(scores.standings)} contenders failed and could not be scored."
        if failed
        else None,
    ]
    return [note for note in found if note]


def of_learning(
    idle: Mapping[str, str],
    contenders: Mapping[str, Contender],
    scores: Scoreboard,
    selected: str | None,
) -> list[str]:
    """Name the contenders that have learned nothing or may score by chance: a reader must know this
    first.

    idle: why, by name, as `learned.findings`. contenders: by name. selected: as in `notes`.
    """
    found = [f"{name} has learned nothing: {why}." for name, why in idle.items()]
    for name, contender in contenders.items():
        if name not in idle and (why := learned.stalled(contender.training)):
            found.append(f"{name} may have learned nothing: {why}.")
        for warning in contender.training.warnings if contender.training else ():
            found.append(f"{name}, in its first epoch: {warning.rstrip('.')}.")
        if name not in scores.not_selected and (why := learned.unfinished(contender.training)):
            found.append(f"{name} {why}.")
        for warning in contender.baseline.warnings if contender.baseline else ():
            found.append(f"{name}: {warning.rstrip('.')}.")
    first = scores.standings[0].name
    for name in dict.fromkeys([first, selected or first]):
        if name not in idle and (note := _chance(name, scores)):
            found.append(note)
    return found


def _chance(name: str, scores: Scoreboard) -> str | None:
    """Say that the interval of the score in the ranking's metric does not exclude chance."""
    primary, chance = scores.primary, scores.chance(scores.primary)
    score = next(s.metrics[primary.name] for s in scores.standings if s.name == name)
    if chance is None:
        return None
    better = score.low > chance if primary.sign > 0 else score.high < chance
    if better:
        return None
    places = max(0, scores.decimals(primary) - 2)
    low, high, by_chance = (f"{x:,.{places}f}" for x in (score.low, score.high, chance))
    return (
        f"In {primary.title}, {name} cannot be distinguished from chance on these test examples: "
        f"its interval [{low}, {high}] does not exclude {by_chance}, the score of an answer that "
        "ignores the example."
    )


def of_folds(folds: CrossValidation, selected: str | None) -> Iterator[str]:
    """Say what the scores of a cross-validation are of."""
    again = f", {folds.repeats} times" if folds.repeats > 1 else ""
    yield (
        f"{folds.rows:,} rows in {folds.count} folds{again}: each was predicted by models that had "
        "not seen it, searched, chosen and trained in its fold. The score of "
        f"{selected or 'a training'} is that of this procedure; the model itself was trained on "
        f"{folds.deployed_examples['train']:,} rows ({folds.deployed_on}), and was not scored."
    )
    yield (
        f"Intervals are {folds.widening:.2f} times as wide as those of independent test examples, "
        "since the folds' trainings share rows (Nadeau and Bengio's correction)."
    )


def of_data(warnings: Sequence[str]) -> list[str]:
    """Warnings of the export: a score on data that give the label away says nothing.

    warnings: as the dataset has them. The first few are shown here; the report lists all.
    """
    found = [f"The data: {warning.rstrip('.')}." for warning in warnings[:_WARNINGS]]
    if more := len(warnings) - len(found):
        found.append(f"The data: {more} more warning{'s' * (more > 1)}, with the dataset.")
    return found


def of_slices(slices: Slices | None, primary: Metric, decimals: int) -> list[str]:
    """Name the slices in which the training is worse than elsewhere: an average hides them."""
    worse = [one for one in slices.slices if one.is_worse(primary.goal)] if slices else []
    if slices is None or not worse:
        return []
    places = max(0, decimals - 2)
    gaps = [
        f"{one.name}: {one.gap.value:+,.{places}f} [{one.gap.low:+,.{places}f}, "
        f"{one.gap.high:+,.{places}f}] on {one.examples:,} examples"
        for one in worse
        if one.gap
    ]
    return [
        f"In {primary.title}, {slices.of} is worse on some slices of the test examples than on all "
        f"other examples: {_joined(gaps)}. The intervals of the {slices.comparisons} gaps hold "
        "together (Bonferroni)."
    ]


def reused(steps: Mapping[str, str]) -> list[str]:
    """A sentence for each earlier run of which this one has taken something, as Reuse.steps."""
    by_run: dict[str, list[str]] = {}
    for step, source in steps.items():
        run = source.rstrip("/").partition("/runs/")[2].partition("/")[0]
        by_run.setdefault(run, []).append(step)
    return [
        f"Reused from the run {run}, at no further cost: {_joined(names)}."
        for run, names in by_run.items()
    ]


def started(contenders: Mapping[str, Contender], scores: Scoreboard) -> list[str]:
    """A sentence for each training that began with the weights of another run's, with its lead over
    the best that began with new ones. contenders: by name.
    """
    values = {
        standing.name: (training, standing.metrics[scores.primary.name].value)
        for standing in scores.standings
        if contenders[standing.name].kind == "training"
        and (training := contenders[standing.name].training) is not None
    }
    cold = next((name for name, (training, _) in values.items() if training.start is None), None)
    places = max(0, scores.decimals(scores.primary) - 2)
    found = []
    for name, (training, value) in values.items():
        if training.start is None:
            continue
        run = training.start.partition("/runs/")[2].partition("/")[0]
        beside = ""
        if cold is not None:
            lead = scores.lead(name, cold)
            ends = f"[{lead.low:+,.{places}f}, {lead.high:+,.{places}f}]"
            beside = (
                f" beside {values[cold][1]:,.{places}f} of {cold}, the first of those with new "
                f"ones, a lead of {lead.value:+,.{places}f} {ends} on the same test examples"
            )
        found.append(
            f"{name} began with the weights of the model that was served, of the run {run}: "
            f"{scores.primary.title} {value:,.{places}f}{beside}."
        )
    return found


def _unrecognized(
    outcomes: Mapping[str, ClassOutcome], competing: Sequence[Standing], classes: Sequence[str]
) -> str | None:
    """The first contender's classes of which it finds no example: accuracy hides rare ones."""
    first = competing[0].name
    never = [
        f"{classes[c]} ({total})"
        for c, (found, total) in outcomes[first].recalls(FEW).items()
        if not found
    ]
    if not never:
        return None
    return (
        f"{first} recognizes no test example of {_joined(never)}: a recall of 0, which a high "
        "accuracy can hide."
    )


def _selection(selected: str | None, others: int) -> str | None:
    if not others:
        return None
    return (
        f"The validation split selected {selected} among {others + 1} trainings. The test split "
        "judges that one; the others are listed after it and do not compete."
    )


def _seeds(repeats: Repeats, scores: Scoreboard) -> str:
    failed = len(repeats.failed)
    lacking = f" {failed} of {failed + len(repeats.seeds)} seeds failed." if failed else ""
    spread = repeats.metrics.get(scores.primary.name)
    if spread is None or spread.sd is None:
        return f"There is no second seed of {repeats.of} to compare with.{lacking}"
    places = max(0, scores.decimals(scores.primary) - 2)
    mean, sd = (f"{value:.{places}f}" for value in (spread.mean, spread.sd))
    return (
        f"Over {len(repeats.seeds)} training seeds, {repeats.of} has a mean {scores.primary.title} "
        f"of {mean} with a standard deviation of {sd} on the same test split, which the intervals "
        f"do not include.{lacking}"
    )


def _optimism(competing: Sequence[Standing]) -> str | None:
    if len(competing) < 2:
        return None
    comparisons = len(competing) - 1
    return (
        f"{competing[0].name} is the winner of {len(competing)} on the same test examples that "
        "it is scored on: expect a slightly lower score on new data, the more so the closer they "
        "are. "
        + (
            f"The intervals of the {comparisons} differences hold together (Bonferroni)."
            if comparisons > 1
            else ""
        )
    ).rstrip()


def _groups(outcome: AnyOutcome, by: str | None, rows: int | None) -> str | None:
    if outcome.groups is None or by is None:
        return None
    if rows is not None:
        return (
            f"All examples of one {by} are in one fold, and are tested by models that have seen "
            f"none of them. Intervals count groups by {by}, of which there are "
            f"{outcome.groups.count:,}."
        )
    return (
        f"All examples of one {by} are in one split. The test split has {len(outcome.labels):,} "
        f"examples of {outcome.groups.count:,} of them, and intervals count the latter."
    )


def _tested(outcome: AnyOutcome, rows: int | None) -> tuple[int, str]:
    """How many examples are tested, and how a note that they are few begins."""
    if rows is not None:
        return rows, "The rows of all folds are few"
    return len(outcome.labels), "The test split is small"


def _small_split(outcomes: Mapping[str, ClassOutcome], rows: int | None) -> str | None:
    first = next(iter(outcomes.values()))
    n, few = _tested(first, rows)
    if n >= SMALL_SPLIT:
        return None
    share = "exact match" if first.family == MULTILABEL else "accuracy"
    return f"{few}: each of the {n} is {100 / n:.2f} percentage points of {share}."


def _small_numbers(outcomes: Mapping[str, AnyOutcome], rows: int | None) -> str | None:
    n, few = _tested(next(iter(outcomes.values())), rows)
    if n >= SMALL_SPLIT:
        return None
    of_values = of_kind(outcomes, ValueOutcome)
    shares = {
        name: float((outcome.residuals**2).max() / (outcome.residuals**2).sum())
        for name, outcome in of_values.items()
        if outcome.misses.any()
    }
    worst = max(shares, key=lambda name: shares[name], default=None)
    if worst is None or shares[worst] < _HEAVY:
        return f"{few}: {n} examples{next(iter(outcomes.values())).of_few}."
    return (
        f"{few}: {n} examples, and a single one accounts for "
        f"{shares[worst]:.0%} of {worst}'s squared error."
    )


def _close_race(standings: Sequence[Standing], primary: Metric) -> str | None:
    close = [s.name for s in standings if s.difference and not s.difference.distinguishable]
    if not close:
        return None
    return (
        f"In {primary.title}, the difference between the winner and {_joined(close)} is not "
        "significant on these test examples: its interval includes zero."
    )


def of_held_out(contenders: Iterable[leaderboard.Contender]) -> Iterator[str]:
    """Sentences on choices of the validation split that do not hold on the test split."""
    for contender in contenders:
        training, name = contender.training, contender.name
        if training is None:
            continue
        if training.calibration is not None and training.calibration.remark:
            yield f"{name} is not calibrated: {training.calibration.remark}."
        asked = training.decision.rule.sensitivity if training.decision is not None else None
        reached = contender.metrics.get("sensitivity")
        if asked is not None and reached is not None and reached.high < asked:
            yield (
                f"The threshold of {name} reaches a sensitivity of {reached.value:.3f} on the test "
                f"split, and its interval ends at {reached.high:.3f}: {asked:g} was asked for, and "
                "reached on the validation split."
            )
        sets = training.conformal
        if sets is not None and sets.reached.high < sets.coverage:
            yield (
                f"The sets or intervals of {name} have the truth in {sets.reached.value:.1%} of "
                f"the test split, and the interval of that ends at {sets.reached.high:.1%}, below "
                f"the {sets.coverage:.1%} that they are made for: the test split was not drawn as "
                "the validation split was."
            )


def _rare_classes(outcomes: Mapping[str, ClassOutcome], classes: Sequence[str]) -> str | None:
    counts = next(iter(outcomes.values())).class_totals
    rare = [f"{name} ({count})" for name, count in zip(classes, counts, strict=True) if count < FEW]
    if not rare:
        return None
    return (
        f"{len(rare)} of {len(classes)} classes have fewer than {FEW} test examples: "
        f"{_joined(rare)}. Their scores by class are unreliable."
    )


def _joined(names: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'; a long list is shortened."""
    if len(names) > _NAMED:
        names = [*names[:_NAMED], f"{len(names) - _NAMED} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))

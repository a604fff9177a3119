"""Sentences about a run's scores and what followed from them, in the past tense, as Markdown. Each
function takes its facts.
"""

from trellis.results.scores import Scored, score
from trellis.results.writeup.facts import Facts
from trellis.results.writeup.markdown import code, listed, table
from trellis_contracts.leaderboard import Contender

_DECIMALS = 6
"""Decimals of the leaderboard's shares and costs."""


def evaluation(f: Facts) -> str:
    """How the contenders were scored."""
    board = f.board
    known = board.uncertainty
    level = f"{known.level:.0%}"
    unit = "groups, not single examples," if known.groups else "examples"
    groups = f" ({known.groups:,} groups)" if known.groups else ""
    on = f"the test split of {f.dataset.examples('test'):,} examples{groups}"
    if board.folds:
        on = f"out-of-fold predictions of {board.folds.rows:,} examples{groups}"
    parts = [
        f"All {len(f.ranked)} contenders were scored by one program on {on}; the primary metric "
        f"was {board.primary.title}. Intervals are {level} intervals that count {unit} as "
        "independent."
    ]
    if known.comparisons > 1:
        parts.append(
            f"Differences are of the same examples; the {known.comparisons} intervals of one "
            f"contender's differences hold together at {level} (Bonferroni)."
        )
    if board.folds:
        parts.append(
            "Since trainings of different folds share examples, every interval is "
            f"{board.folds.widening:.2f} times as wide as that of independent test examples "
            "(Nadeau and Bengio, Machine Learning 52, 2003)."
        )
    parts.append(f"Bootstraps had {known.resamples:,} resamples (seed {known.seed}).")
    return " ".join(parts)


def metrics(f: Facts) -> str:
    """Table of the metrics: what they are, and the methods of their intervals."""
    rows = [
        (about.title, about.description, about.interval, about.difference_interval)
        for about in f.board.metrics.values()
    ]
    return table(["metric", "what it is", "interval", "interval of a difference"], rows)


def results(f: Facts) -> str:
    """Table of the contenders' scores."""
    rows = [(code(one.name) + _roles(f, one), *scores_of(f, one)) for one in f.ranked]
    return table(["contender", *(about.title for about in f.board.metrics.values())], rows)


def scores_of(f: Facts, one: Contender) -> list[str]:
    """The contender's score of each metric with its interval; "" where it has none."""
    shown = f.board.metrics.items()
    return [_score(one.metrics.get(name), about.decimals) for name, about in shown]


def _roles(f: Facts, one: Contender) -> str:
    served = f.board.served(f.files.deployment)
    roles = [
        *(["winner"] if one.name == f.board.winner else []),
        *(["selected"] if one.selected else []),
        *(["served"] if served and one.name == served.name else []),
    ]
    return f" ({', '.join(roles)})" if roles else ""


def slices(f: Facts) -> str | None:
    """Scores in parts of the test split, the largest gaps first; None if the file names none."""
    found = f.board.slices
    if found is None or not found.slices:
        return None
    about = f.board.metrics[found.metric]
    by = listed(code(column) for column in dict.fromkeys(c for s in found.slices for c in s.by))
    parts, gaps = len(found.slices), found.comparisons
    text = (
        f"{code(found.of)} was also scored in {parts} parts of the test split, by {by}. A gap is "
        f"its {about.title} in a part minus that on all other test examples; the intervals of the "
        f"{gaps} that were looked at are of {found.level:.1%} each, so that they hold together."
    )
    worse = [one.name for one in found.slices if one.is_worse(about.goal)]
    first = f"It was worse in {listed(map(code, worse))}." if worse else "None showed it worse."
    return f"{text} {first}"


def slice_table(f: Facts) -> str | None:
    """Table of the parts of the test split; None if there are none."""
    found = f.board.slices
    if found is None or not found.slices:
        return None
    about = f.board.metrics[found.metric]
    rows = [
        (
            code(one.name),
            f"{one.examples:,}",
            _score(one.metrics.get(found.of, {}).get(found.metric), about.decimals),
            _score(one.gap, about.decimals),
        )
        for one in found.slices
    ]
    return table(["part", "examples", about.title, "gap"], rows)


def _score(found: Scored | None, decimals: int) -> str:
    return "" if found is None else score(found, decimals)


def calibration(f: Facts) -> str | None:
    """Calibration of the selected training; None without one."""
    training = f.selected.training if f.selected else None
    found = training.calibration if training else None
    if found is None:
        return None
    changes = listed(
        f"{f.board.metrics[name].title} by {score(change, f.board.metrics[name].decimals)}"
        for name, change in found.change.items()
        if name in f.board.metrics
    )
    moved = f", which changed on the test split {changes}" if found.change else ""
    return (
        f"Probabilities were calibrated by {found.method} on {found.examples:,} examples of the "
        f"validation split{moved}."
    )


def decision(f: Facts) -> str | None:
    """The rule of the selected training's threshold, and what it does; None without one."""
    training = f.selected.training if f.selected else None
    found = training.decision if training else None
    if f.selected is None or training is None or training.threshold is None or found is None:
        return None
    rule, positive = found.rule, code(training.threshold.name)
    if rule.cost is not None:
        by = (
            f"of least cost, where a missed {positive} costs {rule.cost.missed:g} and a false "
            f"alarm {rule.cost.false_alarm:g}"
        )
    elif rule.sensitivity is not None:
        by = f"of highest specificity with a sensitivity of at least {rule.sensitivity:g}"
    else:
        known = f.board.metrics.get(rule.maximize or "")
        by = f"with the highest {known.title if known else rule.maximize}"
    effects = listed(
        f"{f.board.metrics[name].title} {score(f.selected.metrics[name], decimals)} "
        f"({score(half, decimals)} at a half)"
        for name, half in found.at_half.items()
        if name in f.selected.metrics and name in f.board.metrics
        for decimals in [f.board.metrics[name].decimals]
    )
    text = (
        f"The threshold was that {by}, on the validation split: {positive} was decided above "
        f"{found.above:.4g}. On the test split that gave {effects}."
    )
    if found.cost is None:
        return text
    spent = found.cost
    return (
        f"{text} A decision cost {score(spent.model, _DECIMALS)}, which is "
        f"{score(spent.change, _DECIMALS, signed=True)} against a threshold of a half; to decide "
        f"all examples as {positive} would cost {spent.all:.4f}, none {spent.none:.4f}."
    )


def abstention(f: Facts) -> str | None:
    """Which examples the selected training hands back, and what that does; None of none."""
    training = f.selected.training if f.selected else None
    found = training.abstention if training else None
    if found is None:
        return None
    text = (
        f"The model hands back an example of which it is less certain than of the least certain "
        f"{found.share:.0%} of the validation split. Of the test split it answered a share of "
        f"{score(found.answered, _DECIMALS)}; its decisions were wrong in "
        f"{score(found.risk, _DECIMALS)} of these, and in {score(found.risk_of_all, _DECIMALS)} "
        "of all."
    )
    if found.cost is None:
        return text
    return f"{text} An answered example cost {score(found.cost, _DECIMALS)}."


def held_out(f: Facts) -> list[str]:
    """What the validation split decided for the selected training, and the effect of each."""
    found = (calibration(f), decision(f), abstention(f), conformal(f))
    return [one for one in found if one is not None]


def conformal(f: Facts) -> str | None:
    """Conformal sets or intervals of the selected training; None without any."""
    training = f.selected.training if f.selected else None
    found = training.conformal if training else None
    if found is None:
        return None
    what = "sets of classes" if f.dataset.classes else "intervals"
    size = "mean number of classes" if f.dataset.classes else "width"
    reached = score(found.reached, _DECIMALS)
    return (
        f"Split-conformal {what} at a coverage of {found.coverage:.0%}, from {found.examples:,} "
        f"examples of the validation split, covered {reached} of the test split ({size} "
        f"{found.size:.4g})."
    )


def updating(f: Facts) -> str | None:
    """What was changed in a model after its training, or taken over from an earlier one; None if
    nothing was.
    """
    return " ".join(filter(None, [calibration(f), started(f)])) or None


def started(f: Facts) -> str | None:
    """How a training that went on from the served model compares; None if none did."""
    warm = next((c for c in f.trainings if c.training and c.training.start), None)
    if warm is None:
        return None
    about = f.board.primary
    others = [c for c in f.trainings if c.training and not c.training.start and c.rank]
    if not warm.rank or not others:
        return f"{code(warm.name)} began with the weights of the model that was served."
    cold = min(others, key=lambda one: one.rank or 0)
    figures = [score(one.metrics[f.board.primary_metric], about.decimals) for one in (warm, cold)]
    return (
        f"{code(warm.name)} began with the weights of the model that was served: {about.title} "
        f"{figures[0]}, against {figures[1]} of {code(cold.name)}, the best with new weights."
    )


def importance(f: Facts) -> str | None:
    """The predictors on which the selected training relies most; None if that was not measured."""
    found = f.board.importance
    if found is None or not found.features:
        return None
    first = listed(
        f"{code(one.feature)} ({one.value:.3g} [{one.interval[0]:.3g}, {one.interval[1]:.3g}])"
        for one in found.features[:5]
    )
    about = f.board.metrics.get(found.metric)
    return (
        f"By permutation importance (what {code(found.of)} loses in "
        f"{about.title if about else found.metric}), it relied most on {first}."
    )


def gate(f: Facts) -> str:
    """Whether it is served, and by whose decision."""
    decision = f.board.promotion
    if decision is None:
        return "The run was not to be deployed."
    who = decision.challenger or "No contender"
    verb = "was promoted" if decision.promoted else "was not promoted"
    parts = [f"{who} {verb}: {decision.reason}."]
    if f.files.approval is not None:
        parts.append(f"Of its deployment, people decided: {f.files.approval.summary}.")
    if f.files.deployment is not None:
        parts.append(f"Deployment: {f.files.deployment.state}, {code(f.files.deployment.model)}.")
    return " ".join(parts)


def limitations(f: Facts) -> list[str]:
    """Remarks of the comparison and of the data checks."""
    return [*f.board.notes, *f.dataset.warnings]

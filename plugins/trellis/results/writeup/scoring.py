"""Sentences about a run's scores and what followed from them, in the past tense, as Markdown. Each
function takes its facts.
"""

from trellis.results.scores import score
from trellis.results.writeup.facts import Facts
from trellis.results.writeup.markdown import code, listed, table
from trellis_contracts.leaderboard import Contender


def evaluation(f: Facts) -> str:
    """How the contenders were scored."""
    board = f.board
    known = board.uncertainty
    level = f"{known.level:.0%}"
    unit = "groups, not single examples," if known.groups else "examples"
    groups = f" ({known.groups:,} groups)" if known.groups else ""
    parts = [
        f"All {len(f.ranked)} contenders were scored by one program on the test split of "
        f"{f.dataset.examples('test'):,} examples{groups}; the primary metric was "
        f"{board.primary.title}. Intervals are {level} intervals that count {unit} as independent."
    ]
    if known.comparisons > 1:
        parts.append(
            f"Differences are of the same examples; the {known.comparisons} intervals of one "
            f"contender's differences hold together at {level} (Bonferroni)."
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
    shown = f.board.metrics
    rows = [
        (
            code(one.name) + _roles(f, one),
            *(
                score(one.metrics[name], about.decimals) if name in one.metrics else ""
                for name, about in shown.items()
            ),
        )
        for one in f.ranked
    ]
    return table(["contender", *(about.title for about in shown.values())], rows)


def _roles(f: Facts, one: Contender) -> str:
    served = f.board.served(f.files.deployment)
    roles = [
        *(["winner"] if one.name == f.board.winner else []),
        *(["selected"] if one.selected else []),
        *(["served"] if served and one.name == served.name else []),
    ]
    return f" ({', '.join(roles)})" if roles else ""


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
    who = decision.challenger or "No training"
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

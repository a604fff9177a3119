"""The methods behind the intervals of a leaderboard, in words: the end of the page."""

from trellis_contracts.leaderboard import Leaderboard

_SCORES = {
    "bootstrap": "percentile bootstrap",
    "clopper-pearson": "Clopper\u2013Pearson over the examples that it is a share of",
    "pseudo-error bootstrap": "percentile bootstrap, with half an error more on average for the "
    "lower bound",
    "newcombe": "Newcombe",
    "logit and pseudo-error bootstrap": "in the logit with the standard error to first order, "
    "together with a percentile bootstrap that has half an error more on average",
    "calibration bootstrap": "bootstrap, corrected for the upward bias on small splits; it starts "
    "at 0 if chance alone explains the error",
    "studentized bootstrap": "studentized bootstrap",
}
_DIFFERENCES = {
    "paired bootstrap": "percentile bootstrap",
    "bonett-price": "Bonett\u2013Price",
    "paired pseudo-error bootstrap": "percentile bootstrap with half an error more on average",
}
_OF_GROUPS = {
    **_SCORES,
    "clopper-pearson": "Korn\u2013Graubard over the examples that it is a share of",
    "newcombe": "Newcombe of the effective numbers of examples",
}


def methods_text(board: Leaderboard) -> str:
    """A sentence for each method that the leaderboard has: its metrics, in the board's order."""
    scores = _OF_GROUPS if board.uncertainty.groups else _SCORES
    titles: dict[tuple[str, str], list[str]] = {}
    for metric in board.metrics.values():
        how = metric.interval, metric.difference_interval
        titles.setdefault(how, []).append(metric.title)
    return " ".join(
        f"{_sentence(_listed(those))}: {scores[one]}; differences: {_DIFFERENCES[other]}."
        for (one, other), those in titles.items()
    )


def _listed(titles: list[str]) -> str:
    return " and ".join([", ".join(titles[:-1]), titles[-1]]) if len(titles) > 1 else titles[0]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]

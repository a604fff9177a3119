"""Names the roles of a leaderboard's contenders: winner, selected, served.

winner      the first of the leaderboard, a baseline or the model that was served before among them
selected    the training that the validation split chose: it alone of a run can be deployed
served      the selected training, if this run put it into service

They are three: the winner may be a baseline, and the training that is promoted beside it has
another score.
"""

from collections.abc import Mapping
from typing import Any

Contender = Mapping[str, Any]


def named(board: Mapping[str, Any], name: str | None) -> Contender | None:
    """The contender with this name, if there is one."""
    return next((c for c in board["contenders"] if c["name"] == name), None)


def winner(board: Mapping[str, Any]) -> Contender:
    """The leaderboard's first."""
    return next(c for c in board["contenders"] if c["name"] == board["winner"])


def selected(board: Mapping[str, Any]) -> Contender | None:
    """The training that competes; None if no training could be scored."""
    return next((c for c in board["contenders"] if c["selected"]), None)


def served(board: Mapping[str, Any], deployment: Mapping[str, Any] | None) -> Contender | None:
    """Return the model that this run put into service. deployment: its deployment.json, None if
    there is none.
    """
    if deployment is None or deployment["state"] != "serving":
        return None
    return named(board, deployment["challenger"])


def title(board: Mapping[str, Any], metric: str) -> str:
    """A metric's name for people, which says what is averaged."""
    return str(board["metrics"][metric]["title"])

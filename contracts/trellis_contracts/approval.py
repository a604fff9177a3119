"""approval.json: whom a run asks whether its promoted training is deployed, and the answer.

The task `approve` writes it; the deployment, the record of the run and its page read it.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Literal

from trellis_contracts.files import File
from trellis_contracts.leaderboard import Leaderboard

State = Literal["waiting", "approved", "rejected", "expired", "overtaken"]

WAITING: State = "waiting"
APPROVED: State = "approved"
REJECTED: State = "rejected"
EXPIRED: State = "expired"
OVERTAKEN: State = "overtaken"


@dataclass(frozen=True)
class Approval(File):
    """run: its folder. challenger: name on the leaderboard. leaderboard: `digest` of the one that
    was asked about. approvers: users, and roles as "role:Op". asked, until: when the run began to
    wait and when it stops, ISO 8601.

    state: WAITING, APPROVED, REJECTED, EXPIRED (nobody answered), OVERTAKEN (another model is
    served by now). at: when that was decided, ISO 8601. by: the person who answered. reason:
    theirs, or how it was overtaken.
    """

    CONTRACT: ClassVar[str] = "approval"

    run: str
    challenger: str
    leaderboard: str
    approvers: tuple[str, ...]
    asked: str
    until: str
    state: State = WAITING
    at: str | None = None
    by: str | None = None
    reason: str | None = None

    @property
    def denied(self) -> bool:
        """Whether the run has ended its wait without an approval."""
        return self.state in (REJECTED, EXPIRED, OVERTAKEN)

    def approves(self, board: Leaderboard) -> bool:
        """Return whether this leaderboard's challenger was approved; that of another comparison
        was not.
        """
        return self.state == APPROVED and self.leaderboard == digest(board)

    @property
    def deadline(self) -> str:
        """`until` for a reader, to the minute: 2026-11-30 13:16 UTC."""
        return f"{datetime.fromisoformat(self.until).astimezone(UTC):%Y-%m-%d %H:%M} UTC"

    @property
    def summary(self) -> str:
        """The answer in one sentence, without a full stop."""
        who = " or ".join(self.approvers)
        return {
            WAITING: f"it waits for an answer of {who} until {self.deadline}",
            APPROVED: f"{self.by} approved it" + (f": {self.reason}" if self.reason else ""),
            REJECTED: f"{self.by} rejected it: {self.reason or 'no reason was given'}",
            EXPIRED: f"nobody answered in time: {who} had until {self.deadline}",
            OVERTAKEN: f"it was overtaken: {self.reason}",
        }[self.state]


def digest(board: Leaderboard) -> str:
    """SHA-256 of a leaderboard's content."""
    text = json.dumps(board.to_document(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()

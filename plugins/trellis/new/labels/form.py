"""Interface of a form of labels, as it is recognised."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from trellis.new.described import Column, DataError, Rows
from trellis.workflow.spec.problems import did_you_mean


@dataclass(frozen=True)
class Found:
    """A label that was recognised. task: that learns it; None: none does. event: of a time to an
    event. occurred: the value of its column that means the event, in SQL; None: true or 1. remark:
    why, for the file. warnings: what the author must know. left_out: columns that are no features
    then, with the reason.
    """

    label: Column
    task: str | None
    remark: str
    event: Column | None = None
    occurred: str | None = None
    warnings: Sequence[str] = field(default=())
    left_out: Sequence[tuple[str, str]] = field(default=())


class LabelForm:
    """Labels of a form."""

    def find(self, rows: Rows, label: str | None, task: str | None) -> Found | None:
        """The label, if it has this form. label, task: what the author said. Raises DataError if
        the author says so, and it has not.
        """
        return None

    def doubted(self, found: Found, rows: Rows) -> Found:
        """A label of another form, with what speaks for this one."""
        return found


def named(rows: Rows, name: str) -> Column:
    """The column that the author names. Raises DataError."""
    column = rows.column(name)
    if column is None:
        known = [each.name for each in rows.columns]
        raise DataError(
            f"{rows.address} has no column '{name}' (--label); {did_you_mean(name, known)}"
        )
    return column

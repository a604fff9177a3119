"""Labels that are times to an event: a time, and a column of how it ended."""

from dataclasses import replace

from trellis.new import signs
from trellis.new.described import Column, DataError, Rows
from trellis.new.labels import form, names
from trellis.new.labels.form import Found
from trellis.workflow.labels.time import TYPES
from trellis.workflow.spec.problems import GUIDE
from trellis_contracts.tasks import SURVIVAL


class Form(form.LabelForm):
    """See the module."""

    def find(self, rows, label, task):
        guessed = task is None and label is None and _is_clear(rows)
        if task != SURVIVAL and not guessed:
            return None
        time, event = _time_and_event(rows, label)
        remark = f"{time.name} is a time, and {event.name} how it ended"
        return Found(time, SURVIVAL, remark, event, _warnings(event))

    def doubted(self, found, rows):
        """A label that is one half of a time and an event: the other half, which is known as late
        as the label, is no feature.
        """
        pair = signs.time_and_event(rows.columns)
        if pair is None or found.label not in pair:
            return found
        name = found.label.name
        (other,) = (c.name for c in pair if c is not found.label)
        warning = (
            f"{name} and {other} look like a time to an event, and censored rows are taken as "
            f"they stand: --task {SURVIVAL} learns both"
        )
        left_out = [*found.left_out, (other, f"known as late as {name}")]
        return replace(found, warnings=[*found.warnings, warning], left_out=left_out)


def _is_clear(rows: Rows) -> bool:
    """Return whether a time and an event are there, and no other column is called as a label is."""
    pair = signs.time_and_event(rows.columns)
    return pair is not None and not any(
        signs.is_label(column) and column not in pair for column in names.usable(rows)
    )


def _time_and_event(rows: Rows, label: str | None) -> tuple[Column, Column]:
    """The columns of a time to an event. label: the time's name; None: by their names. Raises
    DataError.
    """
    pair = signs.time_and_event(rows.columns)
    events = [c for c in rows.columns if signs.is_event(c)]
    time = form.named(rows, label) if label else (pair[0] if pair else None)
    event = next((c for c in events if c is not time), None)
    if time is None or event is None:
        what = "a time" if time is None else "an event"
        raise DataError(
            f"{rows.address} has no column that is called as {what} is: rename it in a query, as "
            f"in SELECT *, status = 'dead' AS died, or write the file by hand ({GUIDE})"
        )
    if event.type not in TYPES or event.distinct != 2:
        raise DataError(
            f"{rows.address}: {event.name} says how the time {time.name} ended, and is "
            f"{event.type} with {event.distinct} values; an event is BOOL, or 0 and 1: make it so "
            f"in a query, as in SELECT *, {event.name} = {signs.event_of(event)} AS died. If they "
            f"are none, name what to predict: --label COLUMN"
        )
    return time, event


def _warnings(event: Column) -> list[str]:
    """A warning of an event whose name says the opposite."""
    if "censor" not in signs.words(event):
        return []
    warning = (
        f"{event.name} may say who was censored: 1 has to be the event. If it is not, write "
        f"1 - {event.name} in a query"
    )
    return [warning]

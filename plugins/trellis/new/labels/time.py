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
        occurred = _occurred(rows, time, event)
        return Found(time, SURVIVAL, remark, event, occurred, _warnings(event, occurred))

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
            f"{rows.address} has no column that is called as {what} is: rename it in a view, and "
            "name that, as in SELECT * EXCEPT (fate), fate = 'dead' AS died, or write the file by "
            f"hand ({GUIDE})"
        )
    return time, event


def _occurred(rows: Rows, time: Column, event: Column) -> str | None:
    """The value that means the event, in SQL; None: true or 1. Raises DataError where it is not
    clear.
    """
    plain = event.type in TYPES and event.distinct == 2
    if plain and (event.type == "BOOL" or event.values in ((), ("0", "1"))):
        return None
    occurred = signs.event_of(event)
    if occurred is None:
        values = f" ({', '.join(event.values)})" if event.values else ""
        example = "'dead'" if event.type == "STRING" else "1"
        raise DataError(
            f"{rows.address}: {event.name} says how the time {time.name} ended, and is "
            f"{event.type} with {event.distinct} values{values}; an event is BOOL, or 0 and 1: "
            f"make it so in a view, and name that, as in CREATE VIEW {rows.address}_died AS SELECT "
            f"* EXCEPT ({event.name}), {event.name} = {example} AS died FROM {rows.address}. If "
            "they are no time and event, name what to predict: --label COLUMN"
        )
    return occurred


def _warnings(event: Column, occurred: str | None) -> list[str]:
    """What was taken for the event, or a name that says the opposite."""
    if occurred is not None:
        values = " or ".join(event.values)
        return [f"{event.name} is {values}: {occurred} is taken for the event; see the query"]
    if "censor" not in signs.words(event):
        return []
    warning = (
        f"{event.name} may say who was censored: 1 has to be the event. If it is not, write "
        f"1 - {event.name} in a query"
    )
    return [warning]

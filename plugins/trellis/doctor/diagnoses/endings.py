"""Reports what ends soon, by the days in endings.yaml."""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from trellis.doctor.endings import Ending, day_text, load
from trellis.doctor.findings import Finding, Notice, Passed
from trellis.doctor.target import Target

NEAR = timedelta(days=180)
"""How long before its end a thing is reported: enough to release and follow what replaces it."""

_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")


def diagnose(target: Target) -> Iterator[Finding | Notice | Passed]:
    """What Trellis uses and is near its end, or past it; what other programs may use until then."""
    ahead = []
    for ending in load():
        if ending.ends is None:
            continue
        if ending.ends - target.today > NEAR:
            ahead.append(ending)
        elif ending.used_for:
            why = f"Trellis uses it for {ending.used_for}."
            yield Finding(_problem(ending.what, ending.ends, target.today), why, _do(ending))
        elif ending.ends >= target.today:
            why = "Trellis does not use it, but other programs of the group may."
            yield Notice(_problem(ending.what, ending.ends, target.today), why, _do(ending))
    used = [(each.ends, each.what) for each in ahead if each.ends and each.used_for]
    if used:
        day, what = min(used)
        yield Passed(f"next: {what}, {day_text(day)}")


def _problem(what: str, ends: date, today: date) -> str:
    days = (ends - today).days
    if days < 0:
        return f"{what} ended on {day_text(ends)}."
    return f"{what} ends on {day_text(ends)}, in {days} days."


def _do(ending: Ending) -> str:
    """What to do, and where to read more, on one line."""
    pages = ", ".join(ending.sources.values())
    return "; ".join(filter(None, [_LINK.sub(r"\1", ending.do), pages and f"see {pages}"]))

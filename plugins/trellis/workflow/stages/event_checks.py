"""The part of the task check that judges the times to an event, and the events."""

from collections.abc import Mapping
from typing import Any

from trellis.workflow.contracts.table import Table
from trellis.workflow.spec.label import TimeToEvent
from trellis_contracts.withheld import at_keys, quoted

# Forbidden events: in the result of checks.sql, and in words.
_BAD = {"events_missing": "NULL", "events_unknown": "neither 0 nor 1"}


def judge(row: Mapping[str, Any], table: Table, label: TimeToEvent | None) -> list[str]:
    """Problems of the events. row: the result of checks.sql."""
    if table.event is None or not row["examples"]:
        return []
    found, title = row["times"], f"event '{table.event.name}'"
    bad = [
        f"{what} in {found[name]:,} row{'s' if found[name] > 1 else ''}"
        for name, what in _BAD.items()
        if found[name]
    ]
    if bad:
        keys = at_keys(row["events_bad_keys"])
        return [
            f"{title} is {', '.join(bad)}{keys}: 1 says that the event happened at the time, 0 "
            "that it was not seen until then; make it so in a query, or leave these rows out"
        ]
    counts = {entry["split"]: entry["events"] for entry in row["events"]}
    if not sum(counts.values()):
        return [
            f"{title} happened in none of the {row['examples']:,} rows: all are censored, and "
            "there is nothing to learn. Is it the other way round?"
        ]
    problems = [
        f"{title} happened in no row of the {split} split ({counts}): give it a larger share, or "
        f"divide the events (`split: {{stratify: {table.event.name}}}`)"
        for split, count in counts.items()
        if not count
    ]
    longest = row["label_most"]
    for horizon in label.horizons if label is not None else ():
        if longest is not None and horizon >= longest:
            problems.append(
                f"source.label.horizons: {horizon:g} is beyond the longest time of the train split"
                f"{quoted(f', {longest:g}', '')}: nothing is known of it; leave it out"
            )
    return problems

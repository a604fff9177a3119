"""Labels that are times to an event: a number, and a column of whether it happened then."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trellis.workflow.labels import form, number
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.label import TimeToEvent
from trellis.workflow.spec.problems import Problem
from trellis.workflow.spec.quantities import rows_text
from trellis.workflow.spec.source import RowSource, Source
from trellis_contracts.columns import EVENT, EventColumn
from trellis_contracts.dataset_features import Event, Feature, Label
from trellis_contracts.tasks import SURVIVAL
from trellis_contracts.withheld import at_keys, quoted

TYPES = ("INT64", "BOOL")
"""BigQuery's, of a column of events."""

# Forbidden events: in the result of checks.sql, and in words.
_BAD = {"events_missing": "NULL", "events_unknown": "neither 0 nor 1"}


class Form(number.Form):
    """See the module."""

    key, answer = "source.label.time", "risk"
    bad = f"{number.Form.bad} OR label < 0"
    words = f"{number.Form.words} or negative"
    checks = "checks_of_times.sql"
    together = False
    no_parts = "no horizon has a name yet: list them in `source.label`, as in horizons: [{part}]"

    def problems(self, experiment: Experiment, learned: bool) -> Iterator[Problem]:
        source = experiment.source
        if not isinstance(source, RowSource):
            if learned:
                yield Problem(
                    ("task",),
                    "a manifest has one label, and a time to an event two: write `bigquery`, "
                    "`query` or `files` with the images' addresses as `image_columns`",
                )
        elif isinstance(source.label, TimeToEvent) and not learned:
            yield Problem(
                ("source", "label"),
                f"the time and the event are for the task {SURVIVAL}, and it is {experiment.task}: "
                "name one column",
            )
        elif learned and not isinstance(source.label, TimeToEvent):
            label = source.label_column
            yield Problem(
                ("source", "label"),
                f"'{label}' is one column, and a {SURVIVAL} has two: write {{time: {label}, event: "
                "COLUMN}, COLUMN being 1 where the event happened then, 0 where it was not seen "
                "until then",
            )

    def beside(self, source: Source) -> Sequence[form.Beside]:
        event, why = _label(source).event, "an event is BOOL, or 0 or 1"
        return [form.Beside("source.label.event", event, TYPES, why, EVENT)]

    def in_columns(self, source: Source) -> Mapping[str, Any]:
        label = _label(source)
        return {"event": EventColumn(label.event, tuple(map(float, label.horizons)))}

    def identity(self, source: Source) -> Mapping[str, Any]:
        return {"horizons": _label(source).horizons}

    def parts(self, source: Source) -> Sequence[str]:
        label = source.label
        horizons = label.horizons if isinstance(label, TimeToEvent) else ()
        return [f"{horizon:.12g}" for horizon in horizons]

    def decoded(self, features: Sequence[Feature]) -> Label:
        return Label(dtype="float32", event=Event("", {}, {}, (), (), ()))

    def judge(self, row: Mapping[str, Any], source: Source) -> list[str]:
        label, found = _label(source), row["times"]
        title = f"event '{label.event}'"
        bad = [f"{what} in {rows_text(found[name])}" for name, what in _BAD.items() if found[name]]
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
            f"{title} happened in no row of the {split} split ({counts}): give it a larger share, "
            f"or divide the events (`split: {{stratify: {label.event}}}`)"
            for split, count in counts.items()
            if not count
        ]
        longest = row["label_most"]
        problems += [
            f"source.label.horizons: {horizon:g} is beyond the longest time of the train split"
            f"{quoted(f', {longest:g}', '')}: nothing is known of it; leave it out"
            for horizon in label.horizons
            if longest is not None and horizon >= longest
        ]
        return problems


def _label(source: Source) -> TimeToEvent:
    assert isinstance(source.label, TimeToEvent)
    return source.label

"""Times and events that nothing can be learned from are refused, with counts."""

from types import SimpleNamespace

import pytest

from tests.wording import says
from trellis.workflow import labels
from trellis.workflow.spec.label import TimeToEvent
from trellis_contracts.withheld import shown

GOOD = {
    "examples": 30,
    "times": {"missing": 0, "negative": 0, "events_missing": 0, "events_unknown": 0},
    "events_bad_keys": [],
    "events": [{"split": split, "events": 4} for split in ("test", "train", "validation")],
    "label_most": 900.0,
}


def judged(horizons=(), **changed):
    source = SimpleNamespace(label=TimeToEvent("days", "died", horizons))
    return [*map(shown, labels.of("time_to_event").judge(GOOD | changed, source))]


def test_events_in_every_split_pass():
    assert judged() == []
    assert judged((365, 899)) == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"times": GOOD["times"] | {"events_missing": 2}, "events_bad_keys": ["a", "b"]},
            ("'died'", "NULL in 2 rows", "'a', 'b'"),
        ),
        ({"times": GOOD["times"] | {"events_unknown": 1}}, "neither 0 nor 1 in 1 row"),
        (
            {"events": [e | {"events": 0} for e in GOOD["events"]]},
            ("none of the 30 rows", "censored"),
        ),
        (
            {"events": [{"split": "test", "events": 0}, {"split": "train", "events": 9}]},
            ("no row of the test split", "stratify: died"),
        ),
        ({"horizons": (365, 900)}, ("900", "beyond the longest time")),
    ],
)
def test_other_events_are_refused(changed, message):
    (problem,) = judged(**changed)
    assert says(problem, message), problem

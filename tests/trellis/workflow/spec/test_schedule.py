"""Schedules by events."""

import pytest

from trellis.workflow.spec.schedule import After, after, by_time


def test_what_another_experiment_makes():
    assert after("new dataset of digits") == After("dataset", "digits")
    assert after("new champion of breast-cancer") == After("champion", "breast-cancer")


@pytest.mark.parametrize(
    "schedule", ["manual", "new data", "@daily", "0 3 * * 1", "new dataset of"]
)
def test_other_schedules_wait_for_no_experiment(schedule):
    assert after(schedule) is None


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [("@daily", True), ("0 3 * * 1", True), ("manual", False), ("new data", False)],
)
def test_only_presets_and_cron_are_by_time(schedule, expected):
    assert by_time(schedule) is expected

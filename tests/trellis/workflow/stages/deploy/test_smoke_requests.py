"""A challenger that nobody asks any more."""

import pytest

from research.stages.deploy import asking


def test_traffic_that_was_taken_away_meanwhile_is_said():
    """As by a rollback, between the look before the test and the test."""
    with pytest.raises(asking.SmokeTestError, match="gets no requests any more"):
        asking.ask(None, "projects/1/locations/r/endpoints/e", "7", 0, [{"key": "a"}], 1000)

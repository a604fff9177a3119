"""A challenger that nobody asks any more."""

import pytest

from trellis.workflow.stages.deploy import smoke_requests


def test_traffic_that_was_taken_away_meanwhile_is_said():
    """As by a rollback, between the look before the test and the test."""
    with pytest.raises(smoke_requests.SmokeTestError, match="no longer gets requests"):
        smoke_requests.ask(None, "projects/1/locations/r/endpoints/e", "7", 0, [{"key": "a"}], 1000)

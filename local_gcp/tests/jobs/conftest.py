"""Every test of jobs is checked for processes that it left behind."""

import pytest


@pytest.fixture(autouse=True)
def _nothing_is_left(nothing_is_left):
    """No test leaves a process."""

"""Pages have the intervals of a comparison, which tests/trainer/comparison holds."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def _few(few_resamples_in_module):
    """Pages show some interval; how wide it is holds elsewhere."""

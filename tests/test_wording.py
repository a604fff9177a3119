"""Facts in a message."""

import pytest

from tests.wording import says


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (("feature 'x'", "0.5", "10 points"), True),
        ((("0.5", "is 0.75"), "10"), True),
        (("10 points", "0.5"), False),
        (("0.7",), False),
        (("5",), False),
        (("0 points",), False),
    ],
)
def test_facts_stand_in_their_order_and_numbers_are_whole(facts, found):
    assert says("feature 'x' was 0.5, and is 0.75: beyond 10 points.", *facts) == found

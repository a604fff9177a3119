"""A reader sees numbers as people write them."""

import pytest

from trainer.report.numbers import score, text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(2.0, "2"), (0.00312345, "0.003123"), (True, "true"), ("adam", "adam"), (4096, "4,096")],
)
def test_a_hyperparameter_is_shown_as_a_reader_writes_it(value, shown):
    assert text(value) == shown


def test_a_score_has_a_true_minus_sign_and_a_dash_where_there_is_none():
    assert score(-0.5, 2) == "\N{MINUS SIGN}0.50"
    assert score(0.5, 2, signed=True) == "+0.50"
    assert score(float("nan")) == score(None) == "\N{EN DASH}"

import datetime

import pytest

from trellis.workflow.pricing import cost


def test_prices_say_where_they_are_from():
    prices = cost.prices()
    assert prices.source.startswith("https://cloud.google.com/vertex-ai/pricing")
    assert datetime.date.fromisoformat(prices.date)
    assert prices.region == "us-central1"


@pytest.mark.parametrize("bytes_", [0, 10 * 2**20, 3 * 2**40])
def test_a_baseline_comes_to_no_more_than_its_limit(breast_cancer, bytes_):
    """The baseline's three statements read what the limit supposes, or the least that is billed."""
    billed = 3 * max(bytes_, 10 * 2**20)
    limit = cost.baseline(breast_cancer, "bqml-logistic_reg", bytes_)
    actual = cost.billed_baseline(breast_cancer, "bqml-logistic_reg", billed)
    assert actual == pytest.approx(limit)

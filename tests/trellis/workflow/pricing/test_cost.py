import datetime
import functools
import json

import pytest

from tests.trellis.workflow.prices import DISK, hourly
from trellis.workflow.pricing import cost, services
from trellis.workflow.spec.machines import Machine


def test_prices_say_where_they_are_from():
    prices = services.table("us-central1")
    assert "cloud.google.com/bigquery/pricing" in prices.source
    assert datetime.date.fromisoformat(prices.date)
    assert prices.region == "us-central1"


def test_a_region_without_prices_has_those_of_the_first():
    assert services.table("europe-west4") == services.table("us-central1")


def test_a_machine_has_a_disk(group):
    """100 GB of pd-ssd, for each hour of each machine."""
    machine = Machine(type="n1-standard-4")
    with_disk = hourly("n1-standard-4") + DISK
    assert cost.per_hour([(machine, 3)], group.region) == pytest.approx(3 * with_disk)
    # 0.17 USD a GB and month, and Vertex AI's 15 percent.
    a_month = 730 * DISK
    assert a_month == pytest.approx(17 * 1.15, rel=1e-4)


def test_prices_are_those_of_the_region(breast_cancer, monkeypatch, tmp_path):
    """A query, a worker and a disk cost what they cost there; AutoML costs the same everywhere."""
    raw = json.loads(services.TABLE.read_text())
    raw["prices"]["europe-west6"] = {k: 2 * usd for k, usd in raw["prices"]["us-central1"].items()}
    (tmp_path / "prices.json").write_text(json.dumps(raw))
    table = functools.partial(services.table, path=tmp_path / "prices.json")
    monkeypatch.setattr(services, "table", table)
    here, there = "us-central1", "europe-west6"
    assert cost.scan(2**40, there) == pytest.approx(2 * cost.scan(2**40, here))
    name = "bqml-logistic_reg"
    twice = 2 * cost.baseline(breast_cancer, name, 2**40, here)
    assert cost.baseline(breast_cancer, name, 2**40, there) == pytest.approx(twice)
    assert cost.automl_training(breast_cancer) == 21.252
    # AutoML's own reads count as queries.
    reads = [cost.baseline(breast_cancer, "automl", tib * 2**40, here) for tib in (1, 2)]
    assert reads[1] - reads[0] == pytest.approx(3 * cost.scan(2**40, here))
    pool = [(Machine(type="n1-standard-4"), 1)]
    disk = 100 * raw["prices"]["us-central1"]["training_disk_gb"]
    assert cost.per_hour(pool, there) - cost.per_hour(pool, here) == pytest.approx(disk)


@pytest.mark.parametrize("bytes_", [0, 10 * 2**20, 3 * 2**40])
def test_a_baseline_comes_to_no_more_than_its_limit(breast_cancer, bytes_):
    """The baseline's three statements read what the limit supposes, or the least that is billed."""
    billed = 3 * max(bytes_, 10 * 2**20)
    limit = cost.baseline(breast_cancer, "bqml-logistic_reg", bytes_, None)
    actual = cost.billed_baseline(breast_cancer, "bqml-logistic_reg", billed, None)
    assert actual == pytest.approx(limit)

"""The command `trellis prices`, against a catalog that local_gcp serves page by page."""

import functools
import json
import shutil
from pathlib import Path

import pytest

from tests.airflow_side import ROOT
from tests.trellis.workflow.pricing.skus import COMPUTE, RECORDED, VERTEX, sku
from tests.wording import says
from trellis import prices
from trellis.workflow.pricing import services
from trellis.workflow.pricing.catalog import SERVICES
from trellis.workflow.pricing.machines import TABLE

pytestmark = pytest.mark.one_airflow


@pytest.fixture
def catalog(google, monkeypatch):
    """Serves a catalog, until the test ends."""
    monkeypatch.setattr(prices, "_PAGE", 3)
    file = google.home / "project.json"

    def serve(compute=(*COMPUTE, *RECORDED), vertex=VERTEX, more=()):
        skus = {SERVICES["compute"]: compute, SERVICES["vertex"]: vertex, **dict(more)}
        file.write_text(json.dumps({"skus": skus}))

    yield serve
    file.unlink()


@pytest.fixture
def table(tmp_path, monkeypatch):
    """The table of machines; that of services lies beside it."""
    others = Path(shutil.copy(services.TABLE, tmp_path / "prices.json"))
    renew = functools.partial(prices.run, services_file=others)
    monkeypatch.setattr(prices, "run", renew)
    return Path(shutil.copy(TABLE, tmp_path / "machines.json"))


def test_it_shows_and_writes_only_when_told(catalog, table, capsys):
    catalog()
    assert prices.run(ROOT / "dags", write=False, file=table) == 0
    out = capsys.readouterr().out
    assert "2026-07-30 -> " in out
    assert says(out, "a3-highgpu-8g", "training_usd", "none ->", "101.007352")
    assert "Not found in the catalog" in out
    assert "Nothing was written." in out
    assert table.read_text() == TABLE.read_text()

    assert prices.run(ROOT / "dags", write=True, file=table) == 0
    written = json.loads(table.read_text())["prices"]["us-central1"]
    assert written["a3-highgpu-8g"]["training_usd"] == 101.007352


@pytest.fixture
def elsewhere(tmp_path):
    """A group in europe-west4."""
    text = (ROOT / "dags/platform.yaml").read_text()
    (tmp_path / "platform.yaml").write_text(text.replace("us-central1", "europe-west4"))
    return tmp_path


def test_one_call_renews_all_regions_and_adds_the_groups(catalog, table, elsewhere, capsys):
    catalog()
    assert prices.run(elsewhere, write=True, file=table) == 0
    out = capsys.readouterr().out
    assert out.index("\nus-central1\n") < out.index("\neurope-west4\n")
    assert says(out, "europe-west4", "a2-highgpu-1g")
    written = json.loads(table.read_text())["prices"]
    assert written["us-central1"]["a3-highgpu-8g"]["training_usd"] == 101.007352
    assert written["europe-west4"]["n1-standard-4"] == {"usd": 0.209007}

    # The next call, from anywhere, renews both.
    assert prices.run(ROOT / "dags", write=False, file=table) == 0
    again = capsys.readouterr().out.partition("\neurope-west4\n")[2]
    assert again.startswith("\nNo price has changed.")


def test_services_are_renewed_with_machines(catalog, table, elsewhere, capsys):
    """By the region of each SKU; the dearest tier counts, since others may use the first."""
    there = ("europe-west4",)
    bigquery = [sku("Analysis (europe-west4)", 7.5, "TiBy", there, service="BigQuery")]
    free = {"startUsageAmount": 0, "unitPrice": {"units": "0", "nanos": 0}}
    bigquery[0]["pricingInfo"][0]["pricingExpression"]["tieredRates"].insert(0, free)
    dataflow = [
        sku(description, usd, unit, there, service="Cloud Dataflow")
        for description, usd, unit in (
            ("vCPU Time Batch Netherlands", 0.06, "h"),
            ("vCPU Time Streaming Netherlands", 0.07, "h"),
            ("RAM Time Netherlands", 0.004, "GiBy.h"),
            ("RAM Time Streaming Netherlands", 0.005, "GiBy.h"),
            ("Local Disk Time PD Standard Netherlands", 0.00006, "GiBy.h"),
        )
    ]
    disk = "Vertex AI: Training/Pipelines on SSD backed PD Capacity in Netherlands"
    vertex = [*VERTEX, sku(disk, 0.219, "GiBy.mo", there)]
    stored = [sku("Standard Storage Netherlands", 0.02, "GiBy.mo", there, service="Cloud Storage")]
    catalog(vertex=vertex, more={"B-1": bigquery, "D-1": dataflow, "S-1": stored})
    assert prices.run(elsewhere, write=True, file=table) == 0
    out = capsys.readouterr().out
    assert says(out, "by hand", "AutoML's node hours, of 2026-10-07", "Composer's")
    # Iowa's are not in this catalog: they stay.
    assert says(out, "query_tib", "none ->", "7.500000000")
    assert says(out, "Without one price", "query_tib, ")
    file = table.with_name("prices.json")
    new = services.table("europe-west4", file)
    assert (new.query_tib, new.dataflow_vcpu, new.dataflow_memory_gb) == (7.5, 0.06, 0.004)
    assert (new.dataflow_disk_gb, new.training_disk_gb) == (0.00006, 0.0003)
    assert services.table("us-central1", file).query_tib == services.table().query_tib
    assert new.date > "2026-10-07"
    assert new.by_hand == services.table().by_hand


def test_a_new_region_without_all_prices_of_services_is_not_added(
    catalog, table, elsewhere, capsys
):
    catalog()
    assert prices.run(elsewhere, write=True, file=table) == 0
    assert says(capsys.readouterr().out, "Without one price", "query_tib, dataflow_vcpu")
    assert services.table("europe-west4", table.with_name("prices.json")).region == "us-central1"


def test_a_region_that_the_catalog_does_not_have(catalog, table, elsewhere, capsys):
    catalog([each for each in COMPUTE if "europe-west4" not in each["serviceRegions"]])
    assert prices.run(elsewhere, write=True, file=table) == 1
    assert "no machine in europe-west4" in capsys.readouterr().err
    assert table.read_text() == TABLE.read_text()


def test_an_empty_catalog_changes_nothing(catalog, table, capsys):
    catalog([], [])
    assert prices.run(ROOT / "dags", write=True, file=table) == 1
    assert "no machine in us-central1" in capsys.readouterr().err
    assert table.read_text() == TABLE.read_text()


def test_an_api_that_is_off(google, catalog, capsys):
    catalog()
    file = google.home / "project.json"
    file.write_text(json.dumps({"disabled_apis": ["cloudbilling.googleapis.com"]}))
    assert prices.run(ROOT / "dags", write=False) == 1
    assert says(capsys.readouterr().err, "services enable", "cloudbilling.googleapis.com")

"""The command `trellis prices`, against a catalog that local_gcp serves page by page."""

import json
import shutil

import pytest

from tests.airflow_side import ROOT
from tests.trellis.workflow.pricing.skus import COMPUTE, RECORDED, VERTEX
from trellis import prices
from trellis.workflow.pricing.catalog import SERVICES
from trellis.workflow.pricing.machines import TABLE


@pytest.fixture
def catalog(google, monkeypatch):
    """Serves a catalog, until the test ends."""
    monkeypatch.setattr(prices, "_PAGE", 3)
    file = google.home / "project.json"

    def serve(compute=(*COMPUTE, *RECORDED), vertex=VERTEX):
        skus = {SERVICES["compute"]: compute, SERVICES["vertex"]: vertex}
        file.write_text(json.dumps({"skus": skus}))

    yield serve
    file.unlink()


@pytest.fixture
def table(tmp_path):
    return shutil.copy(TABLE, tmp_path / "machines.json")


def test_it_shows_and_writes_only_when_told(catalog, table, capsys):
    catalog()
    assert prices.run(ROOT / "dags", write=False, file=table) == 0
    out = capsys.readouterr().out
    assert "2026-07-30 -> " in out
    assert "a3-highgpu-8g          training_usd          none ->   101.007352" in out
    assert "Not found in the catalog, kept as they were: " in out
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
    assert "Without a price in europe-west4: a2-highgpu-1g, " in out
    written = json.loads(table.read_text())["prices"]
    assert written["us-central1"]["a3-highgpu-8g"]["training_usd"] == 101.007352
    assert written["europe-west4"]["n1-standard-4"] == {"usd": 0.209007}

    # The next call, from anywhere, renews both.
    assert prices.run(ROOT / "dags", write=False, file=table) == 0
    again = capsys.readouterr().out.partition("\neurope-west4\n")[2]
    assert again.startswith("\nNo price has changed.")


def test_a_region_that_the_catalog_does_not_have(catalog, table, elsewhere, capsys):
    catalog([each for each in COMPUTE if "europe-west4" not in each["serviceRegions"]])
    assert prices.run(elsewhere, write=True, file=table) == 1
    assert "has no machine in europe-west4. Nothing was changed." in capsys.readouterr().err
    assert table.read_text() == TABLE.read_text()


def test_an_empty_catalog_changes_nothing(catalog, table, capsys):
    catalog([], [])
    assert prices.run(ROOT / "dags", write=True, file=table) == 1
    assert "has no machine in us-central1. Nothing was changed." in capsys.readouterr().err
    assert table.read_text() == TABLE.read_text()


def test_an_api_that_is_off(google, catalog, capsys):
    catalog()
    file = google.home / "project.json"
    file.write_text(json.dumps({"disabled_apis": ["cloudbilling.googleapis.com"]}))
    assert prices.run(ROOT / "dags", write=False) == 1
    assert "gcloud services enable cloudbilling.googleapis.com" in capsys.readouterr().err

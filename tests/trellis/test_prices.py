"""The command `trellis prices`, against a catalog that local_gcp serves page by page."""

import json
import shutil

import pytest

from tests.airflow_side import ROOT
from tests.trellis.workflow.pricing.skus import COMPUTE, VERTEX
from trellis import prices
from trellis.workflow.pricing.catalog import SERVICES
from trellis.workflow.pricing.machines import TABLE


@pytest.fixture
def catalog(google, monkeypatch):
    """Serves a catalog, until the test ends."""
    monkeypatch.setattr(prices, "_PAGE", 3)
    file = google.home / "project.json"

    def serve(compute=COMPUTE, vertex=VERTEX):
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
    assert "us-central1 of 2026-07-30 -> us-central1 of" in out
    assert "a3-highgpu-8g          training_usd          none ->   101.007352" in out
    assert "Not found in the catalog, kept as they were: " in out
    assert "Nothing was written." in out
    assert table.read_text() == TABLE.read_text()

    assert prices.run(ROOT / "dags", write=True, file=table) == 0
    assert json.loads(table.read_text())["machines"]["a3-highgpu-8g"]["training_usd"] == 101.007352


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

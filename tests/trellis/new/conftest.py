"""A group's folder, in which `trellis new` writes experiment files that are planned."""

import pytest
import yaml

from tests.airflow_side import ROOT
from tests.trellis.workflow.plans import plan_run
from trellis.__main__ import main
from trellis.workflow.spec import platform
from trellis.workflow.validation.file import load


@pytest.fixture
def dags(tmp_path):
    """A group's folder with a bucket of its own, and nothing else."""
    committed = platform.load(ROOT / "dags").model_dump(mode="json", exclude_none=True)
    folder = tmp_path / "dags"
    folder.mkdir()
    (folder / "platform.yaml").write_text(yaml.safe_dump(committed | {"bucket": "new-tests"}))
    return folder


@pytest.fixture
def trellis(dags, monkeypatch):
    """Runs the command in an author's folder."""
    monkeypatch.chdir(dags.parent)
    return lambda *words: main([*words, "--platform", "dags"])


@pytest.fixture
def planned(google, dags):
    """Plans a run of the new file: what BigQuery or the manifest says to it is checked."""

    def planned(name):
        (google.buckets / "new-tests").mkdir(exist_ok=True)
        experiment = load(dags / "experiments" / f"{name}.yaml")
        return plan_run(experiment, platform.load(dags), "r")

    return planned

"""The Airflow provider's own operators against tuning, training pipelines, models and Dataflow."""

import json
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("programs") / "provider_operators.py"


@pytest.mark.slow
def test_provider_operators(new_local_gcp, tmp_path, monkeypatch):
    bin = Path(sys.executable).parent
    (tmp_path / "echo.py").write_text("import sys; print(*sys.argv[1:])")
    (tmp_path / "images.yaml").write_text(
        f"""
        - image: "example.com/python:*"
          bin: {bin}
        - image: "example.com/flex:*"
          bin: {bin}
          env:
            FLEX_TEMPLATE_PYTHON_PY_FILE: {tmp_path}/echo.py
        """
    )
    monkeypatch.setenv("LOCAL_GCP_IMAGES", str(tmp_path / "images.yaml"))
    server = new_local_gcp()
    server.up()

    answer = json.loads(server.run(PROGRAM, "provider", environment="airflow").splitlines()[-1])

    assert set(answer["states"].values()) == {"success"}, answer["states"]
    tuned = answer["returned"]["tune_deferred"]
    assert len(tuned["trials"]) == 2
    (final,) = tuned["trials"][0]["final_measurement"]["metrics"]
    assert final["metric_id"] == "loss"
    kinds = [job["kind"] for job in server.status()["jobs"]]
    assert sorted(kinds) == ["custom", "dataflow", "dataflow", "tuning", "tuning"]
    assert answer["returned"]["export_and_wait"]["currentState"] == "JOB_STATE_DONE"
    model = answer["returned"]["get_model"]
    assert sorted(model["version_aliases"]) == ["champion", "default"]
    assert (server.buckets / "provider/train/model/saved_model.pb").read_text() == "sweet"

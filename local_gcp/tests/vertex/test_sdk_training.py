"""Google's SDK samples for tuning and training pipelines, unchanged but for names."""

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("programs") / "sdk_training.py"


@pytest.mark.slow
def test_sdk_samples(local_gcp, tmp_path):
    answer = json.loads(
        local_gcp.run(PROGRAM, "sdk-samples", str(tmp_path), environment="airflow").splitlines()[-1]
    )

    assert answer["tuning"] == "JOB_STATE_SUCCEEDED"
    trials = sorted(answer["trials"], key=lambda trial: int(trial["id"]))
    assert [trial["id"] for trial in trials] == ["1", "2", "3"]
    for trial in trials:
        assert trial["step"] == 3
        assert trial["final"] == pytest.approx(3 * trial["parameters"]["learning_rate"])
        assert trial["parameters"]["layers"] in (1.0, 2.0, 3.0, 4.0)
        assert trial["parameters"]["num_units"] in (64.0, 128.0, 512.0)
        assert trial["parameters"]["optimizer"] in ("adam", "sgd")

    for model, kind, flag in zip(answer["models"], ("container", "script"), (2, 3), strict=True):
        assert model["pipeline"] == "PIPELINE_STATE_SUCCEEDED"
        assert (model["version"], model["aliases"]) == ("1", ["default"])
        assert model["uri"] == f"gs://sdk-samples/{kind}/model"
        file = local_gcp.buckets / "sdk-samples" / kind / "model/saved_model.pb"
        assert file.read_text() == f"--epochs={flag}"

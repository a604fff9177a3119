"""A model's own file through the whole path: tuned, trained, compared, deployed and asked.

Unlike the other whole runs, this one has the real trainer.
"""

import json
import shutil

import pytest

from tests.airflow_side import ROOT, run_dag
from trellis.workflow.assembly import prediction, training
from trellis.workflow.spec.platform import Platform
from trellis.workflow.validation.file import load

BUCKET = "own-model-runs"

EXPERIMENT = """
owner: trellis
schedule: manual
budget: 5 USD
source: {images: digits/manifest.csv, size: 8, channels: 1, encoding: png}
model: mine.py
task: multiclass_classification
hyperparameters: {depth: 2, batch_size: 16}
tune:
  maximize: accuracy
  trials: 2
  parallel: 1
  epochs: 1
  search:
    learning_rate: {from: 3e-3, to: 1e-2, scale: log}
    width: {choose: [32, 64]}
train: {top: 1, epochs: 5, machines: {workers: 1}}
deploy: {gate: {require: {accuracy: 0.85}}, canary: [100]}
predict: {images: digits/some}
"""


@pytest.fixture
def experiment(upload_digits, tmp_path):
    """The experiment on all digits, with 20 of them to predict later."""
    folder = upload_digits(BUCKET)
    (folder / "some").mkdir()
    for image in sorted((folder / "images").iterdir())[::90]:
        shutil.copy(image, folder / "some")
    shutil.copy(ROOT / "tests/trainer/models/files/residual.py", tmp_path / "mine.py")
    (tmp_path / "own-model-run.yaml").write_text(EXPERIMENT)
    return load(tmp_path / "own-model-run.yaml")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_from_the_file_to_its_predictions(google, experiment, group, tmp_path):
    values = group.model_dump(mode="json", exclude_none=True)
    platform = Platform.model_validate(values | {"bucket": BUCKET, "retry_seconds": 1})
    dag = training.build(experiment, platform)
    # Only what was read is needed from here on.
    (tmp_path / "mine.py").unlink()
    run = run_dag(dag)
    assert run.state == "success", {t.task_id: str(t.state) for t in run.get_task_instances()}

    (folder,) = (google.buckets / BUCKET / "own-model-run/runs").iterdir()
    plan = json.loads((folder / "plan.json").read_text())
    metrics = json.loads((folder / "training/1/metrics.json").read_text())
    assert (metrics["model"], metrics["model_sha256"]) == ("mine.py", experiment.own_model.sha256)
    assert plan["model_file"]["uri"].endswith(f"/{experiment.own_model.sha256}/mine.py")
    (chosen,) = json.loads((folder / "trials.json").read_text())["chosen"]
    assert metrics["hyperparameters"]["width"] == int(chosen["parameters"]["width"])
    assert metrics["hyperparameters"]["depth"] == 2

    # The model server has answered the smoke test as the training predicted.
    deployment = json.loads((folder / "deployment.json").read_text())
    assert deployment["state"] == "serving"

    predicted = run_dag(prediction.build(experiment, platform))
    assert predicted.state == "success"
    results = (google.buckets / BUCKET).rglob("prediction.results-*")
    lines = "".join(file.read_text() for file in results).splitlines()
    answers = [json.loads(line) for line in lines]
    right = [
        answer["prediction"]["label"]
        == answer["instance"]["image_uri"].rpartition("/")[2].partition("-")[0]
        for answer in answers
    ]
    assert len(right) == 20
    assert sum(right) >= 16

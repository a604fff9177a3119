"""A model's own file through the whole path: tuned, trained, compared, deployed and asked.

Unlike the other whole runs, this one has the real trainer.
"""

import json
import shutil

import pytest

from tests.airflow_side import ROOT, run_dag
from tests.trellis.workflow import platforms
from trellis.workflow.assembly import prediction, training
from trellis.workflow.validation.file import load

EXPERIMENT = """
owner: trellis
schedule: manual
budget: 5 USD
source: {images: digits/manifest.csv, size: 8, channels: 1, encoding: png}
model: mine.py
task: multiclass_classification
hyperparameters: {FIXED}
tune:
  maximize: accuracy
  trials: 2
  parallel: 1
  epochs: 1
  search:
    SEARCHED
train: {top: 1, epochs: 5, machines: {workers: 1}}
deploy: {gate: {require: {accuracy: 0.85}}, canary: [100]}
predict: {images: digits/some}
"""


FILES = {
    "residual.py": ("depth: 2, batch_size: 16, learning_rate: 0.006", "width: {choose: [32, 64]}"),
    "pixels.py": ("rounds: 60", "strength: {from: 0.01, to: 1, scale: log}"),
}
"""A network of Keras, and a model of scikit-learn: what is fixed, and what is searched."""


def bucket_of(name):
    """The bucket of an experiment's runs."""
    return f"{name}-runs"


@pytest.fixture(params=FILES)
def experiment(request, upload_digits, tmp_path):
    """The experiment on all digits, with 20 of them to predict later."""
    fixed, searched = FILES[request.param]
    name = f"own-{request.param.removesuffix('.py')}"
    folder = upload_digits(bucket_of(name))
    (folder / "some").mkdir()
    for image in sorted((folder / "images").iterdir())[::90]:
        shutil.copy(image, folder / "some")
    shutil.copy(ROOT / "tests/trainer/models/files" / request.param, tmp_path / "mine.py")
    text = EXPERIMENT.replace("FIXED", fixed).replace("SEARCHED", searched)
    (tmp_path / f"{name}.yaml").write_text(text)
    return load(tmp_path / f"{name}.yaml")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_from_the_file_to_its_predictions(google, experiment, group, tmp_path):
    bucket = bucket_of(experiment.name)
    platform = platforms.of_tests(group, bucket=bucket)
    dag = training.build(experiment, platform)
    # Only what was read is needed from here on.
    (tmp_path / "mine.py").unlink()
    run = run_dag(dag)
    assert run.state == "success", {t.task_id: str(t.state) for t in run.get_task_instances()}

    (folder,) = (google.buckets / bucket / experiment.name / "runs").iterdir()
    plan = json.loads((folder / "plan.json").read_text())
    metrics = json.loads((folder / "training/1/metrics.json").read_text())
    assert (metrics["model"], metrics["model_sha256"]) == ("mine.py", experiment.own_model.sha256)
    assert plan["model_files"]["mine.py"]["uri"].endswith(f"/{experiment.own_model.sha256}/mine.py")
    (chosen,) = json.loads((folder / "trials.json").read_text())["chosen"]
    # A tuner's numbers are doubles.
    for name, value in {**experiment.hyperparameters, **chosen["parameters"]}.items():
        assert float(metrics["hyperparameters"][name]) == float(value)

    # The model server has answered the smoke test as the training predicted.
    deployment = json.loads((folder / "deployment.json").read_text())
    assert deployment["state"] == "serving"

    predicted = run_dag(prediction.build(experiment, platform))
    assert predicted.state == "success"
    results = (google.buckets / bucket).rglob("prediction.results-*")
    lines = "".join(file.read_text() for file in results).splitlines()
    answers = [json.loads(line) for line in lines]
    right = [
        answer["prediction"]["label"]
        == answer["instance"]["image"].rpartition("/")[2].partition("-")[0]
        for answer in answers
    ]
    assert len(right) == 20
    assert sum(right) >= 16

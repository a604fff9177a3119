"""Images that a manifest's last field divides, by day and by class, through the whole path.

The real trainer runs, and the run's scores are read back from Vertex AI Experiments.
"""

import json
from collections import Counter
from datetime import date, timedelta

import pytest
from google.cloud import aiplatform

from tests.airflow_side import run_dag
from tests.trellis.workflow import platforms
from trellis.workflow.assembly import training
from trellis.workflow.validation.file import load

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

BUCKET = "image-splits"
FIRST_DAY = date(2024, 1, 1)
DAYS = 20  # every image was taken on one of them, in turn

EXPERIMENT = """
owner: trellis
schedule: manual
budget: 5 USD
source:
  images: digits/MANIFEST
  size: 8
  channels: 1
  encoding: png
  split: SPLIT
model: dense
task: multiclass_classification
hyperparameters: {batch_size: 64, units: 64}
train: {maximize: accuracy, epochs: 10, machines: {workers: 1}}
"""


@pytest.fixture(scope="module")
def digits(upload_digits):
    """The manifest's lines, `gs://...png,label`; beside it is `days.csv`, with a day on each."""
    folder = upload_digits(BUCKET)
    lines = (folder / "manifest.csv").read_text().splitlines()
    days = (FIRST_DAY + timedelta(number % DAYS) for number in range(len(lines)))
    with_days = [f"{line},{day}" for line, day in zip(lines, days, strict=False)]
    (folder / "days.csv").write_text("\n".join(with_days))
    return lines


@pytest.fixture
def run(digits, google, group, tmp_path):
    """Run the experiment on a manifest divided by a split: examples by split and class."""

    def run(name, manifest, split):
        text = EXPERIMENT.replace("MANIFEST", manifest).replace("SPLIT", split)
        (tmp_path / f"{name}.yaml").write_text(text)
        own = platforms.of_tests(group, bucket=BUCKET, experiments=True)
        dag = training.build(load(tmp_path / f"{name}.yaml"), own)
        made = run_dag(dag)
        assert made.state == "success", {t.task_id: t.state for t in made.get_task_instances()}
        (folder,) = (google.buckets / BUCKET / name / "runs").iterdir()
        check_vertex_experiments(name, folder)
        (file,) = (google.buckets / BUCKET / name / "datasets").glob("*/dataset.json")
        return {split: one["classes"] for split, one in read(file)["counts"].items()}

    return run


def check_vertex_experiments(name, folder):
    aiplatform.init(project="local-gcp", location="us-central1")
    (found,) = (
        aiplatform.Experiment(name).get_data_frame(include_time_series=False).to_dict("records")
    )
    (contender,) = read(folder / "leaderboard/leaderboard.json")["contenders"]
    assert found["metric.accuracy"] == contender["metrics"]["accuracy"]["value"] > 0.8
    assert found["param.model"] == "dense"


def read(file):
    return json.loads(file.read_text())


def test_by_day(run, digits):
    validation, test = FIRST_DAY + timedelta(14), FIRST_DAY + timedelta(17)
    split = f"{{time: taken, validation: {validation}, test: {test}}}"
    classes = [line.rpartition(",")[2] for line in digits]
    expected = {"train": Counter(), "validation": Counter(), "test": Counter()}
    for number, name in enumerate(classes):
        day = number % DAYS
        expected["train" if day < 14 else "validation" if day < 17 else "test"][name] += 1
    assert run("by-day", "days.csv", split) == expected


def test_by_class(run, digits):
    found = run("by-class", "manifest.csv", "{stratify: label}")
    of_class = Counter(line.rpartition(",")[2] for line in digits)
    for name, count in of_class.items():
        shares = {split: found[split][name] for split in found}
        assert sum(shares.values()) == count
        assert shares == pytest.approx(
            {"train": 0.8 * count, "validation": 0.1 * count, "test": 0.1 * count}, abs=1
        )

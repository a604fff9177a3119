"""Images beside columns through the whole path, with the real trainer and its server: neither the
pictures of `demo.lesions_data` nor its columns are enough, both together are, and whoever asks with
the original files gets what the training predicted.
"""

import base64
import json
import subprocess

import numpy as np
import pyarrow.parquet as pq
import pytest
from google.cloud import aiplatform, bigquery

from tests.airflow_side import ROOT, run_dag
from tests.trellis.workflow import platforms
from trellis.workflow.assembly import prediction, training
from trellis.workflow.validation.file import load

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

BUCKET, TABLE = "lesions-run", "lesions_run.lesions"
DAYS = 3
# The smoke test's.
TOLERANCE = 1e-4

EXPERIMENT = """
owner: trellis
schedule: manual
budget: 5 USD
source:
  bigquery: lesions_run.lesions
  key: lesion
  label: malignant
  features: [age, site, photo]
  image_columns: {photo: {size: 32, encoding: png}}
  split: {by: patient, train: 60, validation: 15, test: 25}
model: convolutional
task: binary_classification
hyperparameters: {blocks: 2, learning_rate: 0.003}
train: {maximize: auc, epochs: 25, machines: {workers: 2}}
deploy: {gate: {require: {auc: 0.9}}, canary: [100]}
predict: {bigquery: lesions_run.lesions}
"""
DEPLOYED = EXPERIMENT[EXPERIMENT.index("deploy:") :]
COLUMNS = "  image_columns: {photo: {size: 32, encoding: png}}\n"


@pytest.fixture(scope="module")
def lesions(google):
    """BigQuery with the demo's table, whose rows are of one of three days, too."""
    (google.buckets / BUCKET).mkdir()
    program = [ROOT / ".venv/trainer/bin/python", "-m", "demo.lesions_data"]
    command = [*program, f"gs://{BUCKET}/lesions/", f"local-gcp.{TABLE}"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    client = bigquery.Client(project="local-gcp", location="US")
    number = "MOD(CAST(SUBSTR(patient, 9) AS INT64), 3)"
    client.query_and_wait(
        f"CREATE TABLE {TABLE}_by_day PARTITION BY seen_on AS "
        f"SELECT *, DATE_ADD(DATE '2024-01-01', INTERVAL {number} DAY) AS seen_on FROM {TABLE}"
    )
    return client


@pytest.fixture(scope="module")
def made(lesions, group, tmp_path_factory):
    """Makes an experiment and the group's platform."""

    def made(name, text):
        path = tmp_path_factory.mktemp("experiments") / f"{name}.yaml"
        path.write_text(text)
        return load(path), platforms.of_tests(group, bucket=BUCKET)

    return made


@pytest.fixture(scope="module")
def both(google, made):
    """The experiment on pictures and columns, its platform, and the folder of its run, which is
    deployed.
    """
    experiment, platform = made("lesions-both", EXPERIMENT)
    return experiment, platform, run(google, training.build(experiment, platform))


def run(google, dag):
    """The folder of a run that has ended well."""
    ended = run_dag(dag)
    assert ended.state == "success", {t.task_id: str(t.state) for t in ended.get_task_instances()}
    (folder,) = (google.buckets / BUCKET / dag.dag_id / "runs").iterdir()
    return folder


def auc(folder, name="training/1"):
    board = json.loads((folder / "leaderboard/leaderboard.json").read_text())
    found = {one["name"]: one for one in board["contenders"]}
    assert found[name]["status"] == "ok", found[name]["reason"]
    return found[name]["metrics"]["auc"]["value"]


def offline(folder):
    """The training's predictions: probability of the second class, by key."""
    table = pq.read_table(folder / "training/1/predictions.parquet")
    return dict(
        zip(
            table["key"].to_pylist(),
            (row[1] for row in table["probabilities"].to_pylist()),
            strict=True,
        )
    )


PICTURES = {"[age, site, photo]": "[photo]", "budget: 5": "budget: 60"}
WITHOUT = {"[age, site, photo]": "[age, site]", COLUMNS: "", "convolutional": "dense"}


@pytest.mark.parametrize(
    ("name", "changes", "contenders"),
    [
        ("pictures", PICTURES, {"baselines/automl": "automl: {node_hours: 8}"}),
        ("columns", WITHOUT, {"baselines/bqml-logistic_reg": "bqml: [logistic_reg]"}),
    ],
)
def test_neither_pictures_nor_columns_are_enough(google, made, name, changes, contenders):
    """Nor for what the services learn from them: AutoML takes rows of one image each."""
    text = EXPERIMENT.replace(DEPLOYED, "").replace("{blocks: 2, ", "{")
    for old, new in changes.items():
        text = text.replace(old, new)
    text += f"baselines: {{{', '.join(contenders.values())}}}\n"
    folder = run(google, training.build(*made(f"lesions-{name}", text)))
    assert all(auc(folder, one) < 0.75 for one in ["training/1", *contenders])


def test_both_together_are_learned_by_two_workers_and_served(both):
    *_, folder = both
    metrics = json.loads((folder / "training/1/metrics.json").read_text())
    assert len(metrics["replicas"]) == 2
    assert auc(folder) > 0.9
    assert json.loads((folder / "deployment.json").read_text())["state"] == "serving"


def test_the_endpoint_answers_original_files_as_the_training_predicted(google, lesions, both):
    """Half of the pictures are sent, half named."""
    experiment, _, folder = both
    wanted = offline(folder)
    assert len(wanted) > 200
    keys = sorted(wanted)
    table = lesions.query_and_wait(f"SELECT lesion, age, site, photo FROM {TABLE}")
    rows = {row["lesion"]: dict(row) for row in table}
    instances = []
    for number, key in enumerate(keys):
        row = rows[key]
        del row["lesion"]
        if number % 2:
            data = (google.buckets / row["photo"].removeprefix("gs://")).read_bytes()
            row["photo"] = {"b64": base64.b64encode(data).decode()}
        instances.append(row)
    found = []
    (endpoint,) = aiplatform.Endpoint.list(
        filter=f'display_name="{experiment.name}"', project="local-gcp", location="us-central1"
    )
    for start in range(0, len(keys), 50):
        found += endpoint.predict(instances[start : start + 50]).predictions
    served = np.array([answer["probabilities"]["true"] for answer in found])
    assert np.abs(served - [wanted[key] for key in keys]).max() < TOLERANCE
    # Malignant by the outline and the site together: both move an answer.
    (explained,) = endpoint.predict(instances[1:2], parameters={"explain": {}}).predictions
    shares = explained["explanation"]["attributions"]
    assert shares.keys() == {"age", "site", "photo"}
    assert abs(shares["photo"]) > abs(shares["age"])
    assert explained["explanation"]["pixels"]["photo"]["attributions"]["b64"]


def test_batch_prediction_reads_a_table_of_addresses(google, lesions, both):
    experiment, platform, folder = both
    ended = run_dag(prediction.build(experiment, platform))
    assert ended.state == "success"
    (plan,) = (google.buckets / BUCKET).glob("**/predictions/*/plan.json")
    output = json.loads(plan.read_text())["output"]
    rows = lesions.query_and_wait(f"SELECT key, prediction, error FROM `{output}`")
    found = {row["key"]: row for row in rows}
    assert len(found) == 900
    assert not [row for row in found.values() if row["error"]]
    wanted = offline(folder)
    answers = {key: json.loads(found[key]["prediction"])["probabilities"] for key in wanted}
    off = [abs(answers[key]["true"] - share) for key, share in wanted.items()]
    assert max(off) < TOLERANCE


def test_a_run_takes_the_images_of_its_day(google, made):
    text = EXPERIMENT.replace(DEPLOYED, "").replace("epochs: 25", "epochs: 1")
    text = text.replace("lesions_run.lesions", f"{TABLE}_by_day\n  partition: seen_on")
    dag = training.build(*made("lesions-by-day", text))
    for day in range(1, 1 + DAYS):
        ended = run_dag(dag, **{"from": f"2024-01-0{day}", "to": f"2024-01-0{day + 1}"})
        assert ended.state == "success"
    datasets = (google.buckets / BUCKET / dag.dag_id / "datasets").glob("*/dataset.json")
    counts = [json.loads(path.read_text())["counts"] for path in datasets]
    sizes = [sum(split["examples"] for split in count.values()) for count in counts]
    assert sizes == [900 // DAYS] * DAYS

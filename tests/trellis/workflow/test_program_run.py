"""Whole runs whose champion is not a training of ours: an image that knows nothing of Trellis,
models of BigQuery ML and AutoML. With the real trainer, BigQuery, registry and servers.
"""

import re
import shutil
import subprocess

import pytest

from tests.airflow_side import ROOT, run_dag
from tests.trellis.workflow import platforms, succession, test_survival_run
from tests.trellis.workflow.succession import read
from tests.trellis.workflow.whole_runs import states
from trellis.workflow.assembly import training
from trellis.workflow.validation.file import load, with_changes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PYTHON = ROOT / ".venv/trainer/bin/python"

# A line tells some of it, a network nearly all.
ROWS = """
    SELECT CONCAT('s', CAST(n AS STRING)) AS sample_id,
      IF(0.4 * SIN(n) + ABS(COS(n * 3)) + 0.15 * SIN(n * 7.1) > 0.64, 'yes', 'no') AS malignant,
      SIN(n) AS radius, COS(n * 3) AS texture
    FROM UNNEST(GENERATE_ARRAY(1, 500)) AS n
"""
TREES = "example.com/programs/trees:1"
DEPTH = {"depth": {"default": 3, "minimum": 1, "maximum": 9, "description": "depth of a tree"}}
NETWORK = {
    "model": "dense",
    "image": None,
    "program": None,
    "tune": None,
    "predict": None,
    "train__maximize": "auc",
    "hyperparameters": {"units": 64, "learning_rate": 0.01},
    "train__epochs": 40,
}
WEAK = {**NETWORK, "hyperparameters": {"units": 1, "learning_rate": 1e-6}, "train__epochs": 1}
POORLY = {**WEAK, "deploy__gate__require": {"auc": 0.01}, "deploy__gate__learned": False}

ALONE = {"tune": None, "train__maximize": "auc", "predict": None}


@pytest.fixture
def platform(google, group):
    (google.buckets / "program-runs").mkdir(exist_ok=True)
    return platforms.of_tests(group, bucket="program-runs")


def an_experiment(name, file=ROOT / "dags/experiments/neighbours.yaml", **changes):
    own = {
        ("source", "bigquery"): None,
        ("source", "partition"): None,
        ("source", "query"): ROWS,
        ("predict",): {"query": ROWS},
        ("schedule",): "manual",
        ("deploy", "canary"): [100],
        ("deploy", "gate", "require"): {"auc": 0.7},
    }
    named = {tuple(key.split("__")): value for key, value in changes.items()}
    return with_changes(load(file), own | named).model_copy(update={"name": name})


def test_a_program_follows_a_network_by_a_canary_is_followed_by_one_and_put_back(google, platform):
    name = "a-program"
    before = an_experiment(name, **POORLY)
    first = an_experiment(name, deploy__canary=[50, 100])
    second = an_experiment(name, **NETWORK, deploy__gate__tolerance=0.05)
    _, theirs, ours = succession.follow(google, platform, before, first, second)
    assert succession.shares(theirs) == [50, 100]
    metrics = read(theirs / "training/1/metrics.json")
    assert metrics["strategy"] == "program"
    (chosen,) = read(theirs / "trials.json")["chosen"]
    assert metrics["hyperparameters"] == chosen["parameters"]
    assert read(ours / "training/1/metrics.json")["model"] == "dense"
    succession.check_bulk(google, platform, first, theirs, "2", 500)


def test_a_program_learns_in_every_fold_beside_bigquery_ml(google, platform):
    gate = {"require": {"auc": 0.7}, "beat": "nothing", "tolerance": None}
    crossed = {"train__folds": 3, "source__split": None, "tune__trials": 2, "budget": "3 USD"}
    asked = {**crossed, "deploy__gate": gate, "predict": None}
    run = run_dag(training.build(an_experiment("program-folds", **asked), platform))
    assert run.state == "success", states(run)
    folder = succession.newest_run(google, platform, "program-folds")
    board = read(folder / "leaderboard/leaderboard.json")
    assert [one["part"] for one in board["folds"]["choices"]] == ["1-1", "1-2", "1-3"]
    assert board["folds"]["rows"] == 500
    assert {c["name"]: c["status"] for c in board["contenders"]} == {
        "training/1": "ok",
        "baselines/bqml-logistic_reg": "ok",
    }
    succession.check_served(platform, "program-folds", "1", folder)


BROKEN = {
    "keys": r"scored 63 keys; the test split has 64; 1 missing: 's\d+' \(rule: the keys are those",
    "sum": r"do not sum to 1 .*64 row\(s\), first keys 's1', .* \(rule: probabilities are from 0",
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_program_that_breaks_a_rule_stops_the_run_once_before_anything_later_is_paid(
    google, platform, rule
):
    """File, key and rule are named in a file of the run."""
    changes = {
        "image": "example.com/programs/careless:1",
        "program__train": ["python", "-m", "careless.train", rule],
        "hyperparameters": {"neighbours": 15, "power": 1.0},
        "train__seeds": 2,
        "baselines": None,
    }
    experiment = an_experiment(f"careless-{rule}", **ALONE, **changes)
    run = run_dag(training.build(experiment, platform))
    ended = states(run)
    assert (ended["train 0"], ended["outputs"]) == ("success", "failed")
    later = ("repeat", "compare", "promote", "result")
    assert {ended[task] for task in later} == {"upstream_failed"}
    (task,) = (ti for ti in run.get_task_instances() if ti.task_id == "outputs")
    assert task.try_number == 1
    assert run.state == "failed"
    folder = succession.newest_run(google, platform, experiment.name)
    whole = (folder / "examples/outputs.txt").read_text()
    assert re.search(rf"training/1/predictions\.parquet: .*{BROKEN[rule]}", whole), whole


PICTURES = """
owner: trellis
schedule: manual
budget: 3 USD
source: {images: digits/manifest.csv, size: 8, channels: 1, encoding: png}
model: pictures.py
task: multiclass_classification
image: example.com/programs/pictures:1
serve_image: example.com/programs/pictures-server:2
program:
  train: [python, -m, pictures.train]
  serve: [python, -m, pictures.serve]
  health: /alive
  predict: /answers
hyperparameters: {neighbours: 5, power: 1.0}
train: {epochs: 1, maximize: accuracy, machines: {type: n1-standard-4}, timeout: 1 hour}
deploy:
  gate: {require: {accuracy: 0.9}}
  canary: [100]
  machines: {type: n1-standard-2}
predict: {images: digits/images}
"""


def test_a_program_reads_images_of_the_tfrecords_and_another_image_serves_it(
    google, platform, upload_digits, tmp_path
):
    """Neither has to import TensorFlow. At its own routes, one by one and in bulk, the server
    answers as the run has predicted.
    """
    shutil.rmtree(google.buckets / platform.bucket)
    upload_digits(platform.bucket)
    declared = (ROOT / "dags/experiments/neighbours.py").read_text()
    (tmp_path / "pictures.py").write_text(declared.replace('"table"', '"image"'))
    (tmp_path / "pictures.yaml").write_text(PICTURES)
    experiment = load(tmp_path / "pictures.yaml")
    run = run_dag(training.build(experiment, platform))
    assert run.state == "success", states(run)
    folder = succession.newest_run(google, platform, "pictures")
    (ours,) = read(folder / "leaderboard/leaderboard.json")["contenders"]
    assert ours["metrics"]["accuracy"]["value"] > 0.95
    served = succession.check_served(platform, "pictures", "1", folder)
    assert served.container_spec.image_uri == "example.com/programs/pictures-server:2"
    succession.check_bulk_images(google, platform, experiment, folder)


TIMES = """
owner: trellis
schedule: manual
budget: 3 USD
source:
  bigquery: research.recurrence
  key: patient
  label: {time: days, event: recurred, horizons: [365, 1095, 1825]}
  split: {stratify: recurred}
model: hazards.py
task: time_to_event
image: example.com/programs/hazards:1
program:
  train: [python, -m, hazards.train]
  serve: [python, -m, hazards.serve]
tune:
  maximize: concordance
  trials: 2
  epochs: 1
  search: {ridge: {from: 0.01, to: 10.0, scale: log}}
  machines: {type: n1-standard-4}
  timeout: 1 hour
train: {epochs: 1, machines: {type: n1-standard-4}, timeout: 1 hour}
deploy:
  gate: {require: {concordance: 0.6, horizon_auc@1095: 0.65}}
  canary: [100]
  machines: {type: n1-standard-2}
predict: {bigquery: research.recurrence}
"""
RIDGE = {"ridge": {"default": 1.0, "minimum": 0.0, "maximum": 99.0, "description": "of squares"}}


def test_a_program_learns_times_to_an_event_and_its_server_answers_with_curves(
    google, platform, tmp_path
):
    """It is tuned and gated; one by one and in bulk it answers as the run has predicted."""
    declared = f'INPUTS = ["table"]\nHYPERPARAMETERS = {RIDGE}\n'
    (tmp_path / "hazards.py").write_text(declared)
    (tmp_path / "hazards.yaml").write_text(TIMES)
    rows = {
        ("source", "bigquery"): None,
        ("source", "query"): test_survival_run.ROWS,
        ("predict",): {"query": test_survival_run.ROWS},
    }
    experiment = with_changes(load(tmp_path / "hazards.yaml"), rows)
    run = run_dag(training.build(experiment, platform))
    assert run.state == "success", states(run)
    folder = succession.newest_run(google, platform, experiment.name)
    board = read(folder / "leaderboard/leaderboard.json")
    assert {check["check"]: check["passed"] for check in board["promotion"]["checks"]} == {
        "concordance at least 0.6": True,
        "AUC at 1095 at least 0.65": True,
    }
    assert read(folder / "training/1/metrics.json")["strategy"] == "program"
    succession.check_served(platform, experiment.name, "1", folder)
    test_survival_run.check_bulk(google, platform, experiment, folder, "1")


@pytest.fixture
def trees(tmp_path):
    """The example's experiment with XGBoost's own server and file; its environment is made."""
    subprocess.run(["make", "--silent", "image", "NAME=xgboost"], cwd=ROOT, check=True)
    text = (ROOT / "dags/experiments/neighbours.yaml").read_text()
    for old, new in (
        ("neighbours.py", "trees.py"),
        ("europe-west4-docker.pkg.dev/my-project/programs/neighbours:1", TREES),
        ("nearest.", "trees."),
        ("neighbours: {from: 3, to: 60, scale: log}", "depth: {from: 2, to: 4}"),
        ("    power:      {from: 0.0, to: 2.0}\n", ""),
        ("trials: 4", "trials: 2"),
        ("epochs: 1\n", "epochs: 20\n"),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "trees.py").write_text(f"SEVERAL_WORKERS = True\nHYPERPARAMETERS = {DEPTH}\n")
    (tmp_path / "trees.yaml").write_text(text)
    return tmp_path / "trees.yaml"


def test_xgboost_on_two_workers_loses_one_and_is_served_by_a_server_of_its_own(
    google, platform, trees
):
    two = {"type": "n1-standard-4", "workers": 2}
    experiment = an_experiment("xgboosts-own", trees, train__machines=two)
    run = run_dag(training.build(experiment, platform))
    assert run.state == "success", states(run)
    folder = succession.newest_run(google, platform, experiment.name)
    left = folder / "training/1"
    assert [file.name for file in (left / "model").iterdir()] == ["trees.ubj"]
    # Half of the 20 trees were there when the last worker was lost.
    assert (left / "checkpoints/lost").exists()
    assert int((left / "checkpoints/begun").read_text()) >= 10
    succession.check_served(platform, experiment.name, "1", folder)


SHIPPED = {
    "source__query": None,
    "source__bigquery": "research.breast_cancer",
    "source__partition": "measured_on",
}


def test_the_next_run_of_the_examples_own_data_compares_with_the_served_program(google, platform):
    load_data = [PYTHON, "-m", "demo.breast_cancer_data", "local-gcp.research.breast_cancer"]
    subprocess.run(load_data, cwd=ROOT, check=True)
    dag = training.build(an_experiment("again", **SHIPPED, **ALONE), platform)
    for _ in range(2):
        run = run_dag(dag)
        assert run.state == "success", states(run)
    folder = succession.newest_run(google, platform, "again")
    contenders = read(folder / "leaderboard/leaderboard.json")["contenders"]
    assert {c["kind"]: c["status"] for c in contenders}["served"] == "ok"


SERVICES = {
    "bqml": ({"bqml": ["logistic_reg"]}, ["trainings", "bqml"], ROWS.replace("500", "600")),
    "automl": ({"automl": {"node_hours": 1}}, ["trainings"], ROWS),
}


@pytest.mark.parametrize("service", SERVICES)
def test_a_services_model_is_served_followed_by_a_network_and_put_back(google, platform, service):
    """It replaces a poor network by a canary. The next network wins against BigQuery ML's new one,
    too; the old one is asked for what it predicts of other rows. AutoML may be as good, so that it
    competes no more.
    """
    baselines, allowed, rows = SERVICES[service]
    name, own = f"by-{service}", {"baselines": baselines, "budget": "100 USD"}
    before = an_experiment(name, **POORLY)
    by_canary = {"deploy__allow": ["trainings", service], "deploy__canary": [50, 100]}
    first = an_experiment(name, **WEAK, **own, **by_canary)
    then = {"source__query": rows, "deploy__allow": allowed, "deploy__gate__tolerance": 0.05}
    second = an_experiment(name, **NETWORK, **own, **then)
    _, theirs, ours = succession.follow(google, platform, before, first, second)
    assert succession.shares(theirs) == [50, 100]
    assert succession.challenger_of(theirs).service == service
    assert succession.challenger_of(ours).service is None
    board = read(ours / "leaderboard/leaderboard.json")
    assert {c["name"]: c["status"] for c in board["contenders"]}["served"] == "ok"
    if service == "bqml":
        assert board["winner"] == "training/1"
    asking = an_experiment(name, budget="100 USD")
    succession.check_bulk(google, platform, asking, theirs, "2", 500)


POOR = {
    ("train",): {"epochs": 1, "maximize": "accuracy"},
    ("tune",): None,
    ("hyperparameters",): {"learning_rate": 1e-6},
    ("predict",): {"images": "digits/images"},
    ("deploy",): {"gate": {"require": {"accuracy": 0.01}, "learned": False, "recall": None}},
    ("budget",): "100 USD",
}


def test_automls_model_of_images_is_served_asked_in_bulk_and_compared_on_other_data(
    google, platform, upload_digits
):
    """It follows a poor network, which is put back, and is deployed once more. Google chooses the
    machines of its server.
    """
    shutil.rmtree(google.buckets / platform.bucket)
    upload_digits(platform.bucket)
    before = with_changes(load(ROOT / "dags/experiments/digits.yaml"), POOR)
    before = before.model_copy(update={"name": "seen-by-automl"})
    allowed = {"allow": ["trainings", "automl"], "gate": {"require": {"accuracy": 0.7}}}
    own = {("baselines",): {"automl": {"node_hours": 8}}, ("deploy",): allowed}
    first = with_changes(before, own)
    _, theirs = succession.follow(google, platform, before, first)
    assert succession.challenger_of(theirs).service == "automl"
    assert succession.shares(theirs) == [10, 50, 100]
    succession.check_bulk_images(google, platform, first, theirs)

    never = {("deploy", "gate", "require"): {"accuracy": 0.9999}}
    other = with_changes(first, {("source", "size"): 10, **never})
    run = run_dag(training.build(other, platform))
    assert run.state == "success", states(run)
    board = read(
        succession.newest_run(google, platform, other.name) / "leaderboard/leaderboard.json"
    )
    (served,) = (c for c in board["contenders"] if c["name"] == "served")
    assert served["status"] == "ok", served
    assert served["metrics"]["accuracy"]["value"] > 0.7

"""The command: one run's folder in, leaderboard.json, report.html and a table out."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.trainer.table_run import TableRun
from tests.wording import says
from trainer import compare

pytestmark = pytest.mark.usefixtures("undrawn", "few_resamples")

LABELS = np.random.default_rng(0).integers(0, 10, 180)


@pytest.fixture
def run(run_folder, classifier):
    """Digits: four trials, two of them trained in full."""
    folder = run_folder(LABELS, 10)
    folder.trial(1, 0.91, learning_rate=0.0004, layers=1.0, optimizer="sgd")
    folder.trial(2, 0.96, rank=1, learning_rate=0.003, layers=2.0, optimizer="adam")
    folder.trial(3, None, state="INFEASIBLE", history=0, learning_rate=0.09, layers=3.0)
    folder.trial(4, 0.95, rank=2, learning_rate=0.008, layers=2.0, optimizer="adam")
    folder.contender(1, classifier(LABELS, 10, skill=6, seed=1))
    folder.contender(2, classifier(LABELS, 10, skill=3, seed=2))
    return folder


DEPLOY = {
    "gate": {
        "require": {"accuracy": 0.5},
        "beat": "baselines",
        "margin": 0.0,
        "tolerance": None,
        "learned": True,
    },
    "smoke": {"examples": 5, "latency": 1000},
}


@pytest.fixture
def deploying(run):
    """The run of an experiment that deploys its selected training."""
    run.plan({"configuration": {"deploy": DEPLOY}})
    return run


def board_of(run):
    return json.loads((run.path / "leaderboard" / "leaderboard.json").read_text())


def test_the_command_writes_both_files_and_prints_the_leaderboard(run, capsys):
    assert compare.main(["--run", run.uri, "--metric", "accuracy"]) == 0
    printed = capsys.readouterr().out
    assert "1  *  training/1" in printed
    assert f"Report       {run.path}/leaderboard/report.html" in printed
    assert board_of(run)["winner"] == "training/1"
    assert (run.path / "leaderboard" / "report.html").read_text().startswith("<!doctype html>")


def test_the_run_may_be_a_gs_address(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GCS_ROOT", str(tmp_path))
    run.plan({"dataset": {"uri": "gs://digits/datasets/f00d/", "fingerprint": "f00d"}})
    address = "gs://digits/runs/manual__2026-01-01/"
    assert compare.main(["--run", address, "--metric", "accuracy"]) == 0
    assert f"{address}leaderboard/report.html" in capsys.readouterr().out
    assert board_of(run)["contenders"][0]["uri"] == f"{address}training/1/"


def test_the_output_may_lie_elsewhere(run, tmp_path):
    compare.main(["--run", run.uri, "--metric", "accuracy", "--output", f"{tmp_path}/elsewhere/"])
    assert sorted(p.name for p in (tmp_path / "elsewhere").iterdir()) == [
        "figures.json",
        "leaderboard.json",
        "report.html",
    ]
    assert not (run.path / "leaderboard").exists()


def test_the_same_run_gives_the_same_bytes(deploying, monkeypatch):
    monkeypatch.undo()  # the figures, too
    contents = []
    for _ in range(2):
        compare.main(["--run", deploying.uri, "--metric", "accuracy"])
        folder = deploying.path / "leaderboard"
        contents.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert contents[0] == contents[1]
    assert set(contents[0]) == {
        "challenger.json",
        "figures.json",
        "leaderboard.json",
        "report.html",
    }


def test_the_ranking_follows_the_metric(run, classifier):
    # More often right, but absurdly sure when it is wrong.
    run.contender(1, classifier(LABELS, 10, skill=3, seed=1, confidence=30))
    run.contender(2, classifier(LABELS, 10, skill=2.5, seed=2))
    validation = {"accuracy": 0.99, "loss": 0.01}
    run.contender(3, classifier(LABELS, 10, skill=2, seed=3), validation=validation)
    for metric, order in (("accuracy", [3, 1, 2]), ("loss", [3, 2, 1])):
        compare.main(["--run", run.uri, "--metric", metric])
        found = [contender["name"] for contender in board_of(run)["contenders"]]
        assert found == [f"training/{rank}" for rank in order]
    assert board_of(run)["primary_metric"] == "log_loss"


def test_the_validation_split_selects_the_training_that_the_test_split_judges(run, classifier):
    """Another training's better score on the test split changes nothing."""
    run.plan({"configuration": {"deploy": DEPLOY}})
    run.contender(1, classifier(LABELS, 10, skill=5, seed=1))
    better = {"accuracy": 0.98, "loss": 0.1}
    run.contender(2, classifier(LABELS, 10, skill=3, seed=2), validation=better)
    compare.main(["--run", run.uri, "--metric", "accuracy"])
    board = board_of(run)
    first, second = board["contenders"][:2]
    assert (first["name"], first["selected"]) == ("training/2", True)
    assert (second["name"], second["selected"]) == ("training/1", False)
    assert second["metrics"]["accuracy"]["value"] > first["metrics"]["accuracy"]["value"]
    assert board["promotion"]["challenger"] == board["winner"] == "training/2"


def diverged(run):
    path = run.path / "training/2/predictions.parquet"
    table = parquet.read_table(path)
    broken = pa.array([[float("nan")] * 10] * table.num_rows, pa.list_(pa.float32()))
    parquet.write_table(table.set_column(2, "probabilities", broken), path)


def on_another_dataset(run):
    run.training(2, dataset={"uri": "gs://b/datasets/beef/", "fingerprint": "beef"})


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda run: (run.path / "training/2/predictions.parquet").unlink(), "predictions.parquet"),
        (diverged, "diverge"),
        (on_another_dataset, ("beef", "f00d")),
    ],
)
def test_a_training_that_cannot_be_scored_fails_alone(run, damage, reason):
    damage(run)
    assert compare.main(["--run", run.uri, "--metric", "accuracy"]) == 0
    ranked, failed = board_of(run)["contenders"]
    assert (ranked["status"], failed["name"], failed["status"]) == ("ok", "training/2", "failed")
    assert says(failed["reason"], reason)


def test_all_failed_is_an_error_with_every_reason(run, capsys):
    for rank in (1, 2):
        (run.path / f"training/{rank}/predictions.parquet").unlink()
    assert compare.main(["--run", run.uri, "--metric", "accuracy"]) == 1
    file = "predictions.parquet"
    assert says(capsys.readouterr().err, "all 2", "\n  training/1", file, "\n  training/2", file)
    assert not (run.path / "leaderboard").exists()


def test_nothing_to_compare_is_an_error(run_folder, capsys):
    run = run_folder(LABELS, 10)
    assert compare.main(["--run", run.uri, "--metric", "accuracy"]) == 1
    assert says(capsys.readouterr().err, run.uri, "no training", "no baseline")


def test_other_keys_stop_the_comparison_and_every_contender_is_named(run, classifier, capsys):
    probabilities = classifier(LABELS, 10, skill=3, seed=2)
    run.contender(1, probabilities[1:], keys=run.keys[1:], labels=LABELS[1:])
    run.contender(2, probabilities, keys=["x.png", *run.keys[1:]])
    assert compare.main(["--run", run.uri, "--metric", "accuracy"]) == 1
    message = capsys.readouterr().err
    assert "not all contenders have predictions for the dataset's test split" in message
    assert "training/1 scored 179 keys; the test split has 180; 1 missing: 1 key" in message
    assert "training/2 scored 180 keys; the test split has 180; 1 missing: 1 key; 1 not" in message
    examples = run.path / "examples/compare.txt"
    assert str(examples) in message
    assert "1 missing: 'images/00000" in examples.read_text()
    assert "1 not in the test split: 'x.png'" in examples.read_text()
    assert not (run.path / "leaderboard").exists()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda run: (run.dataset / "dataset.json").unlink(), "no dataset has been committed"),
        (lambda run: (run.path / "plan.json").unlink(), "is --run the folder of a run"),
        (
            lambda run: (run.dataset / "test-00001-of-00002.tfrecord").unlink(),
            ("test-00001-of-00002.tfrecord", "dataset.json"),
        ),
    ],
)
def test_what_is_missing_is_named(run, capsys, damage, message):
    damage(run)
    assert compare.main(["--run", run.uri, "--metric", "accuracy"]) == 1
    assert says(capsys.readouterr().err, message)


def test_an_unknown_metric_names_the_known_ones(run, capsys):
    assert compare.main(["--run", run.uri, "--metric", "acc"]) == 1
    assert says(capsys.readouterr().err, "'acc'", "balanced_accuracy")


def test_the_help_teaches(capsys):
    with pytest.raises(SystemExit):
        compare.main(["--help"])
    printed = capsys.readouterr().out
    assert "python -m trainer.compare --run gs://" in printed
    assert "balanced_accuracy" in printed


def test_a_run_that_deploys_says_what_its_deployment_has_to_know(deploying, capsys):
    assert compare.main(["--run", deploying.uri, "--metric", "accuracy"]) == 0
    promotion = board_of(deploying)["promotion"]
    assert f"\nPromoted: {promotion['reason']}.\n" in capsys.readouterr().out
    challenger = json.loads((deploying.path / "leaderboard/challenger.json").read_text())
    assert challenger["contender"] == promotion["challenger"] == "training/1"
    assert challenger["model"] == f"{deploying.uri}training/1/model/"
    assert len(challenger["examples"]) == 5


def test_the_leaderboard_is_written_last(deploying, monkeypatch):
    written = []
    monkeypatch.setattr(compare.storage, "write_text", lambda uri, text: written.append(uri))
    compare.main(["--run", deploying.uri, "--metric", "accuracy"])
    assert [uri.rpartition("/")[2] for uri in written] == [
        "report.html",
        "figures.json",
        "challenger.json",
        "leaderboard.json",
    ]


def test_a_challenger_that_could_not_be_tried_is_not_promoted(table_run, classifier):
    run = table_run(LABELS % 2, ["false", "true"])
    run.plan({"configuration": {"deploy": DEPLOY}})
    run.contender(1, classifier(LABELS % 2, 2, skill=3, seed=1))
    # The raw rows of this dataset were deleted.
    assert compare.main(["--run", run.uri, "--metric", "accuracy"]) == 0
    promotion = board_of(run)["promotion"]
    assert (promotion["challenger"], promotion["promoted"]) == ("training/1", False)
    assert "rows-*.parquet" in promotion["reason"]
    assert not (run.path / "leaderboard/challenger.json").exists()


def test_without_a_training_to_deploy_there_is_no_challenger(table):
    table.plan({"configuration": {"deploy": DEPLOY}})
    (table.path / "training/1/predictions.parquet").unlink()
    assert compare.main(["--run", table.uri, "--metric", "auc"]) == 0
    assert board_of(table)["promotion"]["challenger"] is None
    assert not (table.path / "leaderboard/challenger.json").exists()


def test_a_finished_deployment_that_is_compared_again_decides_the_same(deploying):
    gate = {**DEPLOY["gate"], "tolerance": 0.0}
    deploying.plan({"configuration": {"deploy": {**DEPLOY, "gate": gate}}})
    served = {"schema": 1, "endpoint": None, "model": None, "artifact_uri": None, "traffic": 0}
    decisions = []
    for now in ({}, {"model": "m@1", "artifact_uri": f"{deploying.uri}training/1/model/"}):
        (deploying.path / "served.json").write_text(json.dumps(served | now))
        compare.main(["--run", deploying.uri, "--metric", "accuracy"])
        board = board_of(deploying)
        decisions.append((board["promotion"]["promoted"], len(board["contenders"])))
    assert decisions == [(True, 2), (True, 2)]


@pytest.mark.slow
def test_tensorflow_is_not_imported(run_folder, classifier):
    run = run_folder(LABELS[:60] % 2, 2)
    run.plan({"configuration": {"deploy": DEPLOY}})
    run.contender(1, classifier(LABELS[:60] % 2, 2, skill=3, seed=1))
    program = (
        "import sys; from trainer.compare import main; "
        f"main(['--run', {run.uri!r}, '--metric', 'accuracy']); "
        "sys.exit(any(m.split('.')[0] in ('tensorflow', 'keras', 'apache_beam')"
        " for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.fixture
def table(table_run, classifier):
    """Rows of a table: one training and one baseline of each service."""
    folder = table_run(LABELS % 2, ["false", "true"])
    folder.contender(1, classifier(LABELS % 2, 2, skill=3, seed=1))
    shares = classifier(LABELS % 2, 2, skill=2, seed=2)
    return folder.baseline("bqml-logistic_reg", folder.exported(shares)).baseline(
        "automl", folder.exported(shares)
    )


def test_a_baseline_that_predicted_other_keys_fails_alone(table):
    shares = np.full((180, 2), 0.5)
    table.baseline("automl", table.exported(shares, keys=["new", *table.keys[1:]]))
    assert compare.main(["--run", table.uri, "--metric", "auc"]) == 0
    failed = [c for c in board_of(table)["contenders"] if c["status"] == "failed"]
    assert [c["name"] for c in failed] == ["baselines/automl"]
    assert says(failed[0]["reason"], "1 missing", "1 not in")


def test_a_baseline_may_win_and_the_trainings_may_all_have_failed(table):
    (table.path / "training/1/predictions.parquet").unlink()
    assert compare.main(["--run", table.uri, "--metric", "auc"]) == 0
    assert board_of(table)["winner"] == "baselines/automl"
    assert "The service trained" in (table.path / "leaderboard/report.html").read_text()


def test_a_file_of_predictions_is_scored_and_ranked_like_all_others(table, classifier):
    better = classifier(LABELS % 2, 2, skill=6, seed=3)
    table.baseline("file-lab", table.exported(better), evaluation={})
    assert compare.main(["--run", table.uri, "--metric", "auc"]) == 0
    board = board_of(table)
    assert board["winner"] == "baselines/file-lab"
    (found,) = [c for c in board["contenders"] if c["name"] == "baselines/file-lab"]
    assert (found["kind"], found["status"], found["rank"]) == ("file", "ok", 1)
    (training,) = [c for c in board["contenders"] if c["name"] == "training/1"]
    assert found["metrics"].keys() == training["metrics"].keys()


def test_all_services_are_scored_from_the_same_predictions_alike(table):
    compare.main(["--run", table.uri, "--metric", "auc"])
    automl, bqml = (
        next(c for c in board_of(table)["contenders"] if c["name"] == f"baselines/{name}")
        for name in ("automl", "bqml-logistic_reg")
    )
    assert automl["metrics"] == bqml["metrics"]


def test_a_run_over_a_table_gives_the_same_bytes_again(table, monkeypatch):
    monkeypatch.undo()  # the figures, too
    contents = []
    for _ in range(2):
        compare.main(["--run", table.uri, "--metric", "auc"])
        written = [
            table.path / "leaderboard/leaderboard.json",
            table.path / "leaderboard/report.html",
        ]
        written.append(table.path / "baselines/automl/predictions.parquet")
        contents.append([path.read_bytes() for path in written])
    assert contents[0] == contents[1]


def test_a_regression_ranked_by_a_metric_of_classes_is_refused(table_run, capsys):
    run = table_run(np.linspace(0, 1, 20)).values(1, np.linspace(0, 1, 20))
    assert compare.main(["--run", run.uri, "--metric", "auc"]) == 1
    assert says(capsys.readouterr().err, "'auc'", "regression", "rmse")


def test_groups_are_what_intervals_count(tmp_path):
    """Ninety visits of fifteen patients: their number is in the leaderboard and on the page."""
    labels = np.arange(90) % 2
    random = np.random.default_rng(4)
    found = []
    for name, patients in (("rows", None), ("patients", np.arange(90) // 6)):
        folder = TableRun(tmp_path / name, labels, ["no", "yes"], groups=patients)
        probabilities = np.clip(labels * 0.3 + random.random(90) * 0.7, 0.01, 0.99)
        folder.contender(1, np.column_stack([1 - probabilities, probabilities]))
        assert compare.main(["--run", folder.uri, "--metric", "auc"]) == 0
        found.append((board_of(folder), (folder.path / "leaderboard/report.html").read_text()))
    (rows, _), (board, page) = found
    assert "groups" not in rows["uncertainty"]
    assert board["uncertainty"]["groups"] == 15
    (note,) = (note for note in board["notes"] if says(note, "patient", "90", "15"))
    assert note in page
    assert "by patient" in page.replace(note, "")

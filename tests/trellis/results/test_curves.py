"""Learning curves of runs side by side."""

import json

import pytest

from tests.trellis.results.made import a_board, a_contender, a_plan_of, a_training, write_files
from trellis.results.curves import Curve, load_curves
from trellis.results.files import load_files
from trellis.workflow.contracts.layout import Run


@pytest.fixture
def run(google, bucket, client, digits):
    """A run with trainings: run("a", {"1": [0.5, 0.75]}, selected="1")."""

    def run(folder, trainings, selected="1", metric="accuracy"):
        names = trainings or {"1": []}
        contenders = [
            a_contender(f"training/{n}", 0.9, 0.8, 1, selected=n == selected) for n in names
        ]
        plan = a_plan_of(digits, folder, bucket)
        made = write_files(google.buckets, plan, a_board(*contenders))
        for name, values in trainings.items():
            a_training(made / "training" / name, values, metric)
        return client, load_files(client, Run(bucket, "digits", folder))

    return run


def test_the_selected_training_of_each_run(run):
    found = load_curves([run("a", {"1": [0.5], "2": [0.25, 0.75]}, "2"), run("b", {"1": [0.5]})])
    assert found.metric == "accuracy"
    assert found.curves == (
        Curve("training/2", ((1, 0.25), (2, 0.75)), 2),
        Curve("training/1", ((1, 0.5),), 1),
    )


def test_runs_with_other_metrics_share_the_loss(run):
    found = load_curves([run("a", {"1": [0.25]}), run("b", {"1": [0.5]}, metric="auc")])
    assert found.metric == "loss"
    assert [curve.points for curve in found.curves] == [((1, 0.75),), ((1, 0.5),)]


def test_a_run_without_a_record_has_no_curve(run, google, bucket):
    assert load_curves([run("a", {})]) is None
    broken = run("b", {"1": [0.5]})
    (google.buckets / bucket / "digits/runs/b/training/1/metrics.json").write_text("{}")
    found = load_curves([broken, run("c", {"1": [0.5]})])
    assert found.curves[0] is None
    assert found.curves[1].training == "training/1"


def test_what_limited_a_training(run, google, bucket):
    one = run("a", {"1": [0.5, 0.75]})
    file = google.buckets / bucket / "digits/runs/a/training/1/metrics.json"
    row = {"seconds": 4, "examples": 25, "evaluation": 1, "checkpoints": 0, "cpu": 0.5, "memory": 1}
    rows = [{**row, "epoch": 2, "input": 2.5, "communication": 0}]
    file.write_text(json.dumps(json.loads(file.read_text()) | {"speed": rows}))
    curve = load_curves([one]).curves[0]
    assert (curve.examples, curve.limit.name, curve.limit.share) == (25, "input", 0.625)


def test_values_that_are_not_finite_are_left_out(run):
    found = load_curves([run("a", {"1": [0.5, float("nan")]})])
    assert found.curves[0].points == ((1, 0.5),)

"""Learning curves of runs side by side."""

import pytest

from tests.trellis.results.made import (
    SPEED,
    a_board,
    a_contender,
    a_plan_of,
    a_training,
    write_files,
)
from trellis.results.curves import Curve, load_curves, speeds
from trellis.results.files import load_files
from trellis.workflow.contracts.layout import Run


@pytest.fixture
def run(google, bucket, client, digits):
    """A run with trainings: run("a", {"1": [0.5, 0.75]}, selected="1")."""

    def run(folder, trainings, selected="1", metric="accuracy", speed=()):
        names = trainings or {"1": []}
        contenders = [
            a_contender(f"training/{n}", 0.9, 0.8, 1, selected=n == selected) for n in names
        ]
        plan = a_plan_of(digits, folder, bucket)
        made = write_files(google.buckets, plan, a_board(*contenders))
        for name, values in trainings.items():
            a_training(made / "training" / name, values, metric, speed)
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


def test_what_limited_a_training(run):
    one = run("a", {"1": [0.5, 0.75]}, speed=[SPEED])
    curve = load_curves([one]).curves[0]
    assert curve.speed["examples a second"] == "1,250"
    assert curve.speed["most of its time"] == "input 62%"
    assert speeds([curve, None])["CPU"] == ["50%", "not measured"]
    assert speeds([None]) == {}


def test_values_that_are_not_finite_are_left_out(run):
    found = load_curves([run("a", {"1": [0.5, float("nan")]})])
    assert found.curves[0].points == ((1, 0.5),)

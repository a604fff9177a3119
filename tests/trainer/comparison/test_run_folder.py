"""A run's folder: what is there is read, what failed is a contender with a reason."""

import numpy as np
import pytest

from tests.wording import says
from trainer.comparison.run_folder import RunError, read_run

LABELS = np.arange(12) % 3


@pytest.fixture
def run(run_folder):
    return run_folder(LABELS, 3)


def right(run):
    return np.eye(3)[run.labels]


def test_chosen_trials_and_their_trainings_belong_together(run):
    run.trial(1, 0.8, learning_rate=0.1).trial(2, 0.9, rank=1, learning_rate=0.01, layers=2.0)
    run.contender(1, right(run))
    (contender,) = read_run(run.uri).contenders
    assert (contender.name, contender.trial, contender.reason) == ("training/1", "2", None)
    assert len(contender.predictions) == 12
    assert contender.uri == f"{run.path}/training/1/"


def test_trials_are_sorted_by_number_with_their_epochs(run):
    for number in (10, 9, 2):
        run.trial(number, 0.5, history=number % 4)
    tuning = read_run(run.uri).tuning
    assert [trial.id for trial in tuning.trials] == ["2", "9", "10"]
    assert [len(trial.history) for trial in tuning.trials] == [2, 1, 2]
    assert (tuning.metric, tuning.goal) == ("accuracy", "maximize")


def test_another_model_has_its_own_search_and_ranks_that_go_on(run):
    run.plan({"configuration": {"other_models": {"dense": {"search": {"units": {}}}}}})
    run.trial(1, 0.9, rank=2, units=8).contender(2, right(run))
    folder = run.path / "tuning/dense"
    folder.mkdir()
    (run.path / "trials.json").rename(folder / "trials.json")
    (run.path / "tuning/1").rename(folder / "1")
    run.trials, run.chosen = [], []
    run.trial(1, 0.8, rank=1, learning_rate=0.1).contender(1, right(run))
    found = read_run(run.uri)
    assert list(found.tunings) == ["convolutional", "dense"]
    (trial,) = found.tunings["dense"].trials
    assert (trial.rank, trial.parameters, len(trial.history)) == (2, {"units": 8}, 4)
    assert [(c.name, c.trial) for c in found.contenders] == [
        ("training/1", "1"),
        ("training/2", "1"),
    ]


def test_a_trial_without_a_value_is_still_a_trial(run):
    run.trial(1, None, state="INFEASIBLE", history=0, learning_rate=0.9)
    (trial,) = read_run(run.uri).tuning.trials
    assert (trial.value, trial.history, trial.state) == (None, (), "INFEASIBLE")


def test_a_run_without_tuning_has_the_trainings_that_are_there(run):
    run.contender(1, right(run)).contender(2, right(run))
    found = read_run(run.uri)
    assert found.tuning is None
    assert [contender.name for contender in found.contenders] == ["training/1", "training/2"]


def test_a_chosen_trial_that_was_never_trained_is_a_failed_contender(run):
    run.trial(1, 0.9, rank=1, learning_rate=0.1)
    (contender,) = read_run(run.uri).contenders
    assert "the training wrote nothing" in contender.reason
    assert contender.parameters == {"learning_rate": 0.1}


def test_a_training_that_died_is_a_failed_contender(run):
    (run.path / "training" / "1" / "checkpoints").mkdir(parents=True)
    (contender,) = read_run(run.uri).contenders
    assert says(contender.reason, "metrics.json", "checkpoints")


def test_predictions_without_metrics_may_be_of_an_earlier_attempt(run):
    run.contender(1, right(run))
    (run.path / "training/1/metrics.json").unlink()
    (contender,) = read_run(run.uri).contenders
    assert says(contender.reason, "metrics.json", "predictions.parquet")
    assert contender.predictions is None


def test_a_training_without_predictions_is_a_failed_contender(run):
    run.training(1)
    (contender,) = read_run(run.uri).contenders
    assert says(contender.reason, "predictions.parquet", "--outputs")


def test_damaged_predictions_are_a_failed_contender(run):
    run.contender(1, right(run))
    (run.path / "training/1/predictions.parquet").write_bytes(b"PAR1")
    (contender,) = read_run(run.uri).contenders
    assert "not a readable Parquet file" in contender.reason


def test_a_missing_plan_is_an_error_that_says_what_a_run_is(tmp_path):
    with pytest.raises(RunError, match=r"plan\.json.*--run"):
        read_run(f"{tmp_path}/")


def test_a_plan_without_a_dataset_is_an_error(run):
    run.plan({"dataset": None})
    with pytest.raises(RunError, match=r"plan\.json .*\n  dataset: expected object, got null"):
        read_run(run.uri)


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 2}'])
def test_a_document_of_another_kind_is_named(run, text):
    (run.path / "trials.json").write_text(text)
    with pytest.raises(RunError, match=r"trials\.json"):
        read_run(run.uri)


def test_a_field_missing_in_trials_is_named(run):
    (run.path / "trials.json").write_text('{"schema": 1, "trials": [{"id": "1"}], "chosen": []}')
    with pytest.raises(RunError, match=r"trials\[0\]: the key 'state' is missing"):
        read_run(run.uri)

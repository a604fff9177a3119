"""The training that competes is chosen without a look at the test split."""

from tests.trainer.comparison.trainings import a_training
from trainer.comparison.run_folder import Contender
from trainer.comparison.selection import challenger, selected_training
from trellis_contracts.tasks import CLASSIFICATION, REGRESSION


def training(name, metric="accuracy", kind="training", **validation):
    found = a_training(metric=metric, validation=validation)
    return Contender(name, kind, f"gs://b/runs/r/{name}/", training=found)


def test_the_best_on_validation_is_selected():
    found = [
        training("training/1", accuracy=0.91, loss=0.1),
        training("training/2", accuracy=0.93, loss=0.3),
    ]
    assert selected_training(found, CLASSIFICATION) == "training/2"


def test_equal_ones_go_by_the_lower_loss_then_by_their_order():
    first = training("training/1", accuracy=0.9, loss=0.3)
    second = training("training/2", accuracy=0.9, loss=0.2)
    third = training("training/3", accuracy=0.9, loss=0.2)
    assert selected_training([first, second, third], CLASSIFICATION) == "training/2"


def test_an_error_is_better_when_it_is_smaller():
    found = [
        training("training/1", "rmse", rmse=3.1, loss=0.2),
        training("training/2", "rmse", rmse=2.9, loss=0.1),
    ]
    assert selected_training(found, REGRESSION) == "training/2"
    by_loss = [training("training/1", "loss", loss=0.2), training("training/2", "loss", loss=0.3)]
    assert selected_training(by_loss, CLASSIFICATION) == "training/1"


def test_only_trainings_of_the_run_are_selected():
    served = training("served", kind="served", accuracy=0.99, loss=0.0)
    baseline = Contender("baselines/automl", "automl", "gs://b/runs/r/baselines/automl/")
    assert selected_training([served, baseline], CLASSIFICATION) is None


RANKING = [
    "baselines/file-lab",
    "baselines/automl",
    "training/2",
    "baselines/bqml-linear_reg",
    "training/1",
]
KINDS = {
    "training/1": "training",
    "training/2": "training",
    "baselines/file-lab": "file",
    "baselines/automl": "automl",
    "baselines/bqml-linear_reg": "bqml",
}


def first(*allow, selected="training/1", ranking=RANKING):
    found = [Contender(name, kind, f"gs://b/runs/r/{name}/") for name, kind in KINDS.items()]
    return challenger(found, ranking, selected, allow)


def test_the_challenger_is_the_first_of_those_that_may_be_deployed():
    """A file of predictions leads, and has no model."""
    assert first("trainings") == "training/1"
    assert first("trainings", "automl") == "baselines/automl"
    assert first("trainings", "bqml") == "baselines/bqml-linear_reg"
    assert first("trainings", "bqml", selected="training/2") == "training/2"
    assert first("bqml") == "baselines/bqml-linear_reg"


def test_without_a_score_there_is_no_challenger():
    assert first("automl", ranking=RANKING[2:]) is None
    assert first("trainings", selected=None) is None

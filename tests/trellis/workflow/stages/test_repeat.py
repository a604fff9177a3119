"""Choice of the training that is repeated, and of its seeds."""

import json

import pytest
from airflow.sdk.exceptions import AirflowFailException

from tests.trellis.results.made import a_training
from tests.trellis.workflow.plans import a_plan
from trellis.workflow.contracts.layout import Run
from trellis.workflow.stages.repeat import best_of, further_seeds
from trellis.workflow.validation.file import with_changes

CHOSEN = [{"rank": rank, "trial": str(rank), "parameters": {}} for rank in (1, 2, 3)]


@pytest.fixture
def plan(google, group, digits, request):
    (google.buckets / group.bucket).mkdir(exist_ok=True)
    return a_plan(digits, Run(group.bucket, "digits", request.node.name))


@pytest.fixture
def trained(google, plan):
    """Writes a training's metrics.json: its accuracy and loss on validation."""

    def trained(rank, accuracy, loss):
        folder = google.buckets / plan.run.training(rank).removeprefix("gs://")
        a_training(folder, [accuracy])
        content = json.loads((folder / "metrics.json").read_text())
        content["validation"] = {"accuracy": accuracy, "loss": loss}
        (folder / "metrics.json").write_text(json.dumps(content))

    return trained


def test_the_best_on_validation_is_repeated(plan, group, trained):
    trained(1, 0.9, 0.2)
    trained(2, 0.95, 0.3)
    assert best_of(CHOSEN, plan, group)["rank"] == 2


def test_of_equal_ones_the_loss_decides_and_the_rank_after_it(plan, group, trained):
    for rank, loss in ((1, 0.3), (2, 0.2), (3, 0.2)):
        trained(rank, 0.9, loss)
    assert best_of(CHOSEN, plan, group)["rank"] == 2


def test_without_any_training_there_is_nothing_to_repeat(plan, group):
    with pytest.raises(AirflowFailException, match="clear `train`"):
        best_of(CHOSEN, plan, group)


def test_seeds_follow_the_experiments_own(digits):
    changed = with_changes(digits, {("train", "seeds"): 3, ("seed",): 2**31 - 2})
    assert further_seeds(changed) == [2**31 - 1, 0]
    assert further_seeds(digits) == []

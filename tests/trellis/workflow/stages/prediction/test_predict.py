"""The job of a batch prediction."""

from datetime import UTC, datetime

import pytest

from trellis.workflow.contracts.prediction_layout import Prediction
from trellis.workflow.contracts.prediction_plan import PredictionPlan, Rows
from trellis.workflow.stages.prediction.predict import job
from trellis.workflow.validation.file import with_changes


@pytest.fixture
def plan(breast_cancer, digits, group):
    """A function: number of images in a row, or None for images alone; whose model -> the plan."""

    def make(images, service=None):
        experiment, where = (breast_cancer, {"bigquery": "lab.new"})
        if images is None:
            experiment, where = (digits, {"images": "incoming"})
        changed = with_changes(experiment, {("predict",): where})
        return PredictionPlan(
            run=Prediction(changed, group, "manual"),
            data_interval={"start": None, "end": None},
            model="projects/p/locations/r/models/m@1",
            service=service,
            model_run="gs://b/m/runs/r/",
            dataset="gs://b/m/datasets/d/",
            source="lab.new",
            partition=None,
            rows=None if images is None else Rows("SELECT 1", datetime.now(UTC), False, images),
            instances=9,
            left_out=[],
            output="lab.out",
            cost={},
        )

    return make


@pytest.mark.parametrize(("images", "size"), [(None, 8), (1, 8), (2, 4), (3, 2), (20, 1)])
def test_a_request_has_few_images_since_the_server_reads_them_all(plan, group, images, size):
    found = job(plan(images), group)
    assert found["manual_batch_tuning_parameters"] == {"batch_size": size}
    source = "gcs_source" if images is None else "bigquery_source"
    assert source in found["input_config"]


@pytest.mark.parametrize("images", [None, 0])
def test_automls_model_takes_nothing_that_is_of_a_server(plan, group, images):
    """Google chooses its machines; of images it is asked for the probabilities of all classes."""
    found = job(plan(images, "automl"), group)
    ours = {"dedicated_resources", "instance_config", "manual_batch_tuning_parameters"}
    assert ours <= job(plan(1), group).keys()
    assert found.keys().isdisjoint(ours)
    assert found.get("model_parameters", {}).get("confidenceThreshold") == (
        0 if images is None else None
    )


def test_rows_without_images_are_sent_as_many_as_vertex_ai_likes(plan, group):
    assert "manual_batch_tuning_parameters" not in job(plan(0), group)

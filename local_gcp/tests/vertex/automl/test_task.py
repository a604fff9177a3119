"""AutoML training pipelines through Google's own clients: a job, a model, its evaluation."""

import pytest
from google.api_core import exceptions

from local_gcp.vertex.datasets.items import annotation_spec
from tests.vertex import cases


def test_a_table_gives_a_model_with_an_evaluation(vertex, until, home):
    cases.write_table(home.buckets / "bucket")
    pipeline = cases.tabular_pipeline(cases.create_dataset(vertex))
    done, model = cases.train(vertex, until, pipeline)
    assert int(done.training_task_metadata["trainCostMilliNodeHours"]) < 1000
    assert "not Google's" in model.description
    assert model.training_pipeline == done.name
    assert dict(model.labels) == {"team": "vision"}
    assert model.model_source_info.source_type.name == "AUTOML"

    (evaluation,) = vertex.models.list_model_evaluations(parent=model.name)
    assert evaluation.metrics["auRoc"] > 0.9
    (attribution,) = evaluation.model_explanation.mean_attributions
    assert set(attribution.feature_attributions) == {"size", "shape"}
    with pytest.raises(exceptions.MethodNotImplemented, match="ListModelEvaluationSlices"):
        vertex.models.list_model_evaluation_slices(parent=evaluation.name)


@pytest.mark.slow
def test_a_second_model_is_a_version_with_an_evaluation_of_its_own(vertex, until, home):
    cases.write_table(home.buckets / "bucket")
    pipeline = cases.tabular_pipeline(cases.create_dataset(vertex))
    _, model = cases.train(vertex, until, pipeline)
    (evaluation,) = vertex.models.list_model_evaluations(parent=model.name)
    pipeline["training_task_inputs"] |= {"targetColumn": "weight", "predictionType": "regression"}
    done, other = cases.train(vertex, until, {**pipeline, "parent_model": model.name})
    assert (other.name, done.model_to_upload.version_id) == (model.name, "2")
    second = model.name.replace("@1", "@2")
    (found,) = vertex.models.list_model_evaluations(parent=second)
    assert found.metrics["rSquared"] > 0.9
    (kept,) = vertex.models.list_model_evaluations(parent=model.name)
    assert kept.name == evaluation.name, "the default version is still the first"


@pytest.mark.slow
def test_images(vertex, until, home):
    cases.write_images(home.buckets / "bucket")
    dataset = cases.create_dataset(vertex, images=True)
    done, model = cases.train(vertex, until, cases.image_pipeline(dataset))
    assert done.training_task_metadata["successfulStopReason"] == "MODEL_CONVERGED"
    (evaluation,) = vertex.models.list_model_evaluations(parent=model.name)
    matrix = evaluation.metrics["confusionMatrix"]
    assert sum(sum(row) for row in matrix["rows"]) == 14
    ids = {spec["displayName"]: spec["id"] for spec in matrix["annotationSpecs"]}
    (item, *_) = vertex.service.datasets.items.of(dataset)
    assert ids[item.label] == annotation_spec(dataset, item.label)


def test_the_budget_bounds_the_run_and_cancelling_ends_it(vertex, until, home):
    cases.write_table(home.buckets / "bucket")
    pipeline = cases.tabular_pipeline(cases.create_dataset(vertex))
    pipeline["training_task_inputs"]["disableEarlyStopping"] = True  # it would take an hour
    name = cases.start(vertex, pipeline)
    run = until(lambda: vertex.service.runner.get(name.rpartition("/")[2]))
    assert 3600 <= run.spec.timeout <= 3900
    until(lambda: vertex.pipelines.get_training_pipeline(name=name).start_time)
    (job,) = vertex.service.jobs()
    assert (job["kind"], job["state"]) == ("automl", "JOB_STATE_RUNNING")
    with pytest.raises(exceptions.FailedPrecondition, match="cannot be deleted"):
        vertex.pipelines.delete_training_pipeline(name=name)
    vertex.pipelines.cancel_training_pipeline(name=name)
    done = cases.finish(vertex, until, name)
    assert done.state.name == "PIPELINE_STATE_CANCELLED"
    assert not list(vertex.models.list_models(parent=vertex.parent))
    until(lambda: not list((home.root / "vertex/pipelines").glob("*")))  # after the state's write


def test_a_pipeline_is_cancelled_while_its_data_is_read(vertex, home, monkeypatch):
    cases.write_table(home.buckets / "bucket")
    pipeline = cases.tabular_pipeline(cases.create_dataset(vertex))
    waiting = []
    monkeypatch.setattr(vertex.service.background, "submit", lambda *work: waiting.append(work))
    name = cases.start(vertex, pipeline)
    shown = vertex.pipelines.get_training_pipeline(name=name)
    assert shown.state.name == "PIPELINE_STATE_PENDING"
    vertex.pipelines.cancel_training_pipeline(name=name)
    ((work, _failed, argument),) = waiting
    work(argument)
    done = vertex.pipelines.get_training_pipeline(name=name)
    assert done.state.name == "PIPELINE_STATE_CANCELLED"
    assert vertex.service.runner.get(name.rpartition("/")[2]) is None


@pytest.mark.slow
def test_a_kill_while_the_data_is_read_is_made_good_at_the_next_start(
    vertex, until, home, monkeypatch
):
    cases.write_table(home.buckets / "bucket")
    pipeline = cases.tabular_pipeline(cases.create_dataset(vertex), columns=["size", "nothing"])
    monkeypatch.setattr(vertex.service.background, "submit", lambda *_: None)
    name = cases.start(vertex, pipeline)
    monkeypatch.undo()
    vertex.service.pipelines.start()
    done = cases.finish(vertex, until, name)
    assert done.state.name == "PIPELINE_STATE_FAILED"
    assert "no column 'nothing'; there are key, size" in done.error.message


def test_data_that_is_not_there_fails_the_pipeline(vertex, until):
    dataset = cases.create_dataset(vertex)
    done = cases.finish(vertex, until, cases.start(vertex, cases.tabular_pipeline(dataset)))
    assert done.state.name == "PIPELINE_STATE_FAILED"
    assert "gs://bucket/cells.csv" in done.error.message
    table = cases.create_dataset(
        vertex, source={"bigquerySource": {"uri": "bq://local-gcp.lab.cells"}}
    )
    done = cases.finish(vertex, until, cases.start(vertex, cases.tabular_pipeline(table)))
    assert done.error.code == 12, "no BigQuery beside this Vertex AI"


def test_what_is_refused_starts_nothing(vertex, home):
    cases.write_table(home.buckets / "bucket")
    pipeline = cases.tabular_pipeline(cases.create_dataset(vertex))
    inputs = pipeline["training_task_inputs"]
    images = cases.image_pipeline(pipeline["input_data_config"]["dataset_id"])
    for changes, error, words in [
        (
            {"input_data_config": None},
            exceptions.InvalidArgument,
            "input_data_config; Message: Required",
        ),
        (
            {"model_to_upload": None},
            exceptions.InvalidArgument,
            "model_to_upload; Message: Required",
        ),
        (images, exceptions.InvalidArgument, "is not a dataset of images"),
        (
            {"training_task_inputs": {**inputs, "trainBudgetMilliNodeHours": 10}},
            exceptions.InvalidArgument,
            "10 is not from 1000 to 72000",
        ),
        (
            {
                "training_task_definition": images["training_task_definition"].replace(
                    "image", "text"
                )
            },
            exceptions.MethodNotImplemented,
            "does not emulate the training task .*automl_text",
        ),
    ]:
        with pytest.raises(error, match=words):
            cases.start(vertex, {**pipeline, **changes})
    assert vertex.service.jobs() == []

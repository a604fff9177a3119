"""Batch predictions through Google's own client: AutoML's models and a serving container."""

import ast
import csv
import json
import re
import zoneinfo
from pathlib import Path

import pytest
from google.api_core import exceptions

from tests.vertex import cases

REFUSED = re.compile(
    r"Post request fails\. Cannot get predictions\. Error: Exceeded retries: Non-OK result 400 "
    r"\(.*\) from server, retry=3, elapsed=[0-9.]+s\."
)
SERVE = Path(__file__).parents[1] / "programs/serve.py"


@pytest.fixture
def predict(vertex, until, home):
    """predict(model, instances, inputs format, outputs format): (job, {file: text})."""

    def wait(model, source, inputs="jsonl", outputs="jsonl", **fields):
        job = start(model, source, inputs, outputs, **fields)
        until(lambda: vertex.jobs.get_batch_prediction_job(name=job.name).end_time, 60)
        job = vertex.jobs.get_batch_prediction_job(name=job.name)
        uri = job.output_info.gcs_output_directory
        folder = Path(uri.replace("gs:/", str(home.buckets))) if uri else None
        files = {f.name: f.read_text() for f in folder.iterdir()} if folder else {}
        return job, files

    def start(model, source, inputs="jsonl", outputs="jsonl", **fields):
        job = {
            "display_name": "predict",
            "model": model,
            "input_config": {"instances_format": inputs, "gcs_source": {"uris": [source]}},
            "output_config": {
                "predictions_format": outputs,
                "gcs_destination": {"output_uri_prefix": "gs://bucket/out"},
            },
            **fields,
        }
        request = {"parent": vertex.parent, "batch_prediction_job": job}
        return vertex.jobs.create_batch_prediction_job(request=request)

    wait.start = start
    return wait


@pytest.fixture
def container(vertex, home):
    """A model that programs/serve.py serves."""
    folder = home.buckets / "bucket/model"
    folder.mkdir(parents=True)
    (folder / "factor").write_text("2")
    model = {
        "display_name": "doubler",
        "artifact_uri": "gs://bucket/model",
        "container_spec": {
            "image_uri": "example.com/python:3",
            "command": ["python", str(SERVE)],
            "env": [{"name": "PORT_AGAIN", "value": "$(AIP_HTTP_PORT)"}],
        },
    }
    request = {"parent": vertex.parent, "model": model}
    return vertex.models.upload_model(request=request).result(timeout=60).model


MACHINE = {"dedicated_resources": {"machine_spec": {"machine_type": "n1-standard-2"}}}


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.slow
def test_tables(vertex, until, home, predict):
    folder = home.buckets / "bucket"
    cases.write_table(folder)
    pipeline = cases.tabular_pipeline(cases.create_dataset(vertex))
    transformations = [{"numeric": {"column_name": "size"}}, {"auto": {"column_name": "shape"}}]
    pipeline["training_task_inputs"]["transformations"] = transformations
    _, model = cases.train(vertex, until, pipeline)

    job, files = predict(model.name, "gs://bucket/cells.csv", "csv", "csv", labels={"run": "1"})
    assert job.state.name == "JOB_STATE_SUCCEEDED", job.error.message
    assert (job.completion_stats.successful_count, job.model_version_id) == (120, "1")
    assert job.output_info.gcs_output_directory.startswith("gs://bucket/out/prediction-cells-20")
    assert list(files) == ["predictions_1.csv"]
    rows = list(csv.DictReader(files["predictions_1.csv"].splitlines()))
    given = [f"k{n}" for n in range(120)]
    assert sorted(given) == sorted(row["key"] for row in rows), "all"
    assert given != [row["key"] for row in rows], "in an order that nothing may depend on"
    assert [name for name in rows[0] if "score" not in name] == [
        "key", "label", "ml_use", "shape", "size", "weight",
    ]  # fmt: skip
    right = [(float(r["label_malignant_score"]) > 0.5) == (r["label"] == "malignant") for r in rows]
    assert sum(right) > 100

    with pytest.raises(exceptions.MethodNotImplemented, match="a table as"):
        predict.start(
            model.name,
            "gs://bucket/cells.csv",
            "csv",
            "bigquery",
            output_config={
                "predictions_format": "bigquery",
                "bigquery_destination": {"output_uri": "bq://local-gcp.results.given"},
            },
        )

    (folder / "some.jsonl").write_text(
        '{"size": 9.5, "shape": "a"}\n{"size": null, "shape": "b"}\n'
    )
    job, files = predict(model.name, "gs://bucket/some.jsonl")
    (good,) = lines(files["prediction.results-00000-of-00001"])
    assert good["prediction"]["classes"] == ["benign", "malignant"]
    assert good["prediction"]["scores"][1] > 0.9
    (bad,) = lines(files["prediction.errors_stats-00000-of-00001"])
    assert bad["instance"] == {"size": None, "shape": "b"}
    assert (job.completion_stats.successful_count, job.completion_stats.failed_count) == (1, 1)
    assert "must have a value" in job.partial_failures[0].message

    (folder / "few.jsonl").write_text('{"size": 9.5}\n')
    job, files = predict(model.name, "gs://bucket/few.jsonl")
    assert job.state.name == "JOB_STATE_FAILED"
    assert "The instances have no column shape." in job.error.message
    assert not files

    request = {"parent": vertex.parent, "filter": "labels.run=1"}
    (found,) = vertex.jobs.list_batch_prediction_jobs(request=request)
    vertex.jobs.delete_batch_prediction_job(name=found.name).result(timeout=60)
    assert not list(vertex.jobs.list_batch_prediction_jobs(request=request))


@pytest.mark.slow
def test_images(vertex, until, home, predict):
    folder = home.buckets / "bucket"
    cases.write_images(folder)
    dataset = cases.create_dataset(vertex, images=True)
    _, model = cases.train(vertex, until, cases.image_pipeline(dataset))
    uris = ["gs://bucket/1.png", "gs://bucket/2.png", "gs://bucket/none.png"]
    instances = [json.dumps({"content": uri, "mimeType": "image/png"}) for uri in uris]
    (folder / "test.jsonl").write_text("\n".join(instances))
    (folder / "test.txt").write_text("\n".join(uris))
    for source, form in [("test.jsonl", "jsonl"), ("test.txt", "file-list")]:
        parameters = {"confidenceThreshold": 0.5, "maxPredictions": 1.0}
        source = f"gs://bucket/{source}"
        job, files = predict(model.name, source, form, model_parameters=parameters)
        assert job.state.name == "JOB_STATE_SUCCEEDED", job.error.message
        one, two = lines(files["predictions_00001.jsonl"])
        assert one["instance"] == {"content": uris[0], "mimeType": "image/png"}
        assert one["prediction"]["displayNames"] == ["red"]
        assert two["prediction"]["displayNames"] == ["blue"]
        assert one["prediction"]["confidences"][0] > 0.5
        (failed,) = lines(files["errors_00001.jsonl"])
        assert failed["error"] == {"code": 3, "message": "There is no such image."}


def test_a_container_is_asked_in_batches(vertex, home, container, predict):
    instances = [json.dumps([n, 1]) for n in range(10)]
    instances[4] = '["four"]'
    (home.buckets / "bucket/in.jsonl").write_text("\n".join(instances))
    job, files = predict(
        container,
        "gs://bucket/in.jsonl",
        manual_batch_tuning_parameters={"batch_size": 4},
        model_parameters={"factor": 10},
        **MACHINE,
    )
    assert job.state.name == "JOB_STATE_SUCCEEDED", job.error.message
    results = lines(files["prediction.results-00000-of-00001"])
    assert [r["prediction"] for r in results] == [10 * (n + 1) for n in (0, 1, 2, 3, 8, 9)]
    failed = ast.literal_eval(files["prediction.errors_stats-00000-of-00001"])
    assert REFUSED.fullmatch(failed[0])
    assert failed[1] == 4  # the number of instances, not one for each
    stats = job.completion_stats
    assert (stats.successful_count, stats.failed_count) == (6, 4)


def test_a_job_whose_instances_all_fail_succeeds(vertex, home, container, predict):
    (home.buckets / "bucket/in.jsonl").write_text('["four"]\n["five"]\n')
    job, files = predict(container, "gs://bucket/in.jsonl", **MACHINE)
    assert job.state.name == "JOB_STATE_SUCCEEDED", job.error.message
    assert files["prediction.results-00000-of-00001"] == ""
    assert ast.literal_eval(files["prediction.errors_stats-00000-of-00001"])[1] == 2


def test_what_a_job_will_write_is_told_at_its_end(vertex, until, home, container, predict):
    (home.buckets / "bucket/in.jsonl").write_text("[1]\n")
    job = predict.start(container, "gs://bucket/in.jsonl", **MACHINE)
    assert job.state.name == "JOB_STATE_PENDING"
    assert "manual_batch_tuning_parameters" in job
    assert "output_info" not in job
    assert "start_time" not in job
    states = set()

    def ended():
        shown = vertex.jobs.get_batch_prediction_job(name=job.name)
        states.add(shown.state.name)
        assert bool(shown.output_info.gcs_output_directory) == bool(shown.end_time)
        return shown.end_time

    until(ended, 60)
    assert states <= {"JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED"}
    done = vertex.jobs.get_batch_prediction_job(name=job.name)
    stamp = done.output_info.gcs_output_directory.rpartition("-")[2]
    assert re.fullmatch(r"(\d+_){2}\d+T(\d+_){3}\d{3}Z", stamp)
    there = zoneinfo.ZoneInfo("America/Los_Angeles")
    assert stamp.startswith(done.create_time.astimezone(there).strftime("%Y_%m_%dT%H_%M_"))


def test_a_container_is_sent_the_fields_that_were_chosen(vertex, home, container, predict):
    text = '{"id": "a", "x": 1, "y": 2}\n{"id": "b", "x": 3, "y": 4}\n'
    (home.buckets / "bucket/in.jsonl").write_text(text)
    config = {"key_field": "id", "excluded_fields": ["y"]}
    _, files = predict(container, "gs://bucket/in.jsonl", instance_config=config, **MACHINE)
    assert lines(files["prediction.results-00000-of-00001"]) == [
        {"key": "a", "prediction": 2},
        {"key": "b", "prediction": 6},
    ]
    (home.buckets / "bucket/in.csv").write_text("x,y\n1,2\n3,4\n")
    _, files = predict(container, "gs://bucket/in.csv", "csv", **MACHINE)
    assert [r["prediction"] for r in lines(files["prediction.results-00000-of-00001"])] == [6, 14]


def test_a_container_that_does_not_come_up_fails_the_job(vertex, home, container, predict):
    (home.buckets / "bucket/in.jsonl").write_text("[1]\n")
    request = {
        "parent": vertex.parent,
        "model": {
            "display_name": "broken",
            "artifact_uri": "gs://bucket/model",
            "container_spec": {
                "image_uri": "example.com/python:3",
                "command": ["python", "-c", "print('no weights'); raise SystemExit(3)"],
            },
        },
    }
    model = vertex.models.upload_model(request=request).result(timeout=60).model
    job, _ = predict(model, "gs://bucket/in.jsonl", **MACHINE)
    assert job.state.name == "JOB_STATE_FAILED"
    assert "no weights" in job.error.message
    assert "ended with 3 before it was healthy" in job.error.message


def test_cancelling_ends_the_container_too(vertex, until, home, container, predict):
    (home.buckets / "bucket/in.jsonl").write_text("[1]\n")
    slow = {"command": ["python", "-c", "import time; time.sleep(600)"]}
    spec = {"image_uri": "example.com/python:3", **slow}
    model = {"display_name": "slow", "artifact_uri": "gs://bucket/model", "container_spec": spec}
    request = {"parent": vertex.parent, "model": model}
    name = vertex.models.upload_model(request=request).result(timeout=60).model
    job = predict.start(name, "gs://bucket/in.jsonl", **MACHINE)
    until(lambda: vertex.jobs.get_batch_prediction_job(name=job.name).start_time)
    with pytest.raises(exceptions.FailedPrecondition, match="cannot be deleted"):
        vertex.jobs.delete_batch_prediction_job(name=job.name)
    vertex.jobs.cancel_batch_prediction_job(name=job.name)
    until(lambda: vertex.jobs.get_batch_prediction_job(name=job.name).end_time)
    done = vertex.jobs.get_batch_prediction_job(name=job.name)
    assert (done.state.name, done.error.code) == ("JOB_STATE_CANCELLED", 1)
    with pytest.raises(exceptions.FailedPrecondition, match="cannot be canceled"):
        vertex.jobs.cancel_batch_prediction_job(name=job.name)


def test_a_job_goes_on_from_where_a_kill_left_it(
    vertex, until, home, container, predict, monkeypatch
):
    (home.buckets / "bucket/in.jsonl").write_text("[1]\n")
    submit = vertex.service.background.submit
    monkeypatch.setattr(vertex.service.background, "submit", lambda *_: None)
    job = predict.start(container, "gs://bucket/in.jsonl", **MACHINE)
    vertex.service.background.submit = lambda work, *rest: (
        submit(work, *rest) if work.__name__ == "_begin" else None
    )
    vertex.service.batch_predictions.start()  # as after a kill before the run was submitted
    number = job.name.rpartition("/")[2]
    until(lambda: (run := vertex.service.runner.get(number)) and run.final)
    shown = vertex.jobs.get_batch_prediction_job(name=job.name)
    assert shown.state.name == "JOB_STATE_RUNNING", "its results are not published yet"
    monkeypatch.undo()
    vertex.service.batch_predictions.start()  # as after a kill before the end was written
    until(lambda: vertex.jobs.get_batch_prediction_job(name=job.name).end_time)
    done = vertex.jobs.get_batch_prediction_job(name=job.name)
    assert done.completion_stats.successful_count == 1


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"display_name": ""}, exceptions.InvalidArgument, "display_name"),
        (
            {"dedicated_resources": None},
            exceptions.InvalidArgument,
            "machine_type; Message: Required",
        ),
        ({"generate_explanation": True}, exceptions.MethodNotImplemented, "explanations"),
        (
            {"input_config": {"instances_format": "tf-record"}},
            exceptions.MethodNotImplemented,
            "tf-record",
        ),
        (
            {"input_config": {"instances_format": "parquet"}},
            exceptions.InvalidArgument,
            "'parquet' is not one of the model's: jsonl, bigquery, csv, tf-record",
        ),
        (
            {
                "input_config": {
                    "instances_format": "bigquery",
                    "gcs_source": {"uris": ["gs://b/x"]},
                }
            },
            exceptions.InvalidArgument,
            "bigquery_source; Message: Required",
        ),
        ({"model": "publishers/google/models/x"}, exceptions.MethodNotImplemented, "publisher"),
        (
            {"instance_config": {"included_fields": ["a"], "excluded_fields": ["b"]}},
            exceptions.InvalidArgument,
            "excluded_fields",
        ),
    ],
)
def test_what_is_refused(vertex, container, predict, fields, error, words):
    model = fields.pop("model", container)
    with pytest.raises(error, match=words):
        predict.start(model, "gs://bucket/in.jsonl", **{**MACHINE, **fields})
    assert vertex.service.jobs() == []

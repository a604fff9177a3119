"""Whole runs in which a served model is followed by another one, put back, and followed again, and
predicts in bulk.
"""

import json

import pytest
from google.cloud import aiplatform_v1 as api
from google.cloud import bigquery
from google.protobuf import json_format, struct_pb2

from tests.airflow_side import run_dag
from tests.trellis.workflow.whole_runs import states
from trellis.workflow.assembly import prediction, rollback, training
from trellis.workflow.contracts import layout
from trellis.workflow.lookups import endpoint
from trellis.workflow.stages.deploy import smoke_requests
from trellis.workflow.stages.prediction import lines
from trellis_contracts.challenger import Challenger


def follow(google, platform, *experiments):
    """Run the experiments, all of one name, one after the other, and roll back twice: the folders
    of their runs.

    Each model is the champion in its turn, has all requests, and answers as its run has predicted.
    """
    folders = []
    for number, experiment in enumerate(experiments, 1):
        run = run_dag(training.build(experiment, platform))
        assert run.state == "success", states(run)
        folders.append(newest_run(google, platform, experiment.name))
        check_served(platform, experiment.name, str(number), folders[-1])
    last = len(experiments)
    back = rollback.build({experiment.name: experiment}, platform)
    for number in (last - 1, last):
        run = run_dag(back, experiment=experiment.name, version="previous")
        assert run.state == "success", states(run)
        check_served(platform, experiment.name, str(number), folders[number - 1])
    return folders


def newest_run(google, platform, name):
    """The folder of the newest run."""
    runs = (google.buckets / platform.bucket / name / "runs").iterdir()
    return max(runs, key=lambda folder: folder.stat().st_mtime)


def check_served(platform, name, number, folder):
    """The version is the champion, has all requests, and answers as the run has predicted; returns
    it.
    """
    found = endpoint.find(platform, layout.Run(platform.bucket, name, ""))
    (version,) = found.versions
    assert (version.name.rpartition("@")[2], version.traffic) == (number, 100)
    assert version.champion
    options = {"api_endpoint": f"{platform.region}-aiplatform.googleapis.com"}
    there = api.EndpointServiceClient(client_options=options).get_endpoint(name=found.name)
    (deployed,) = there.deployed_models
    challenger = challenger_of(folder)
    asked = smoke_requests.ask(
        api.PredictionServiceClient(client_options=options),
        found.name,
        deployed.id,
        100,
        challenger.examples[:5],
        60_000,
        service=challenger.service,
    )
    assert asked.examples == 5
    return api.ModelServiceClient(client_options=options).get_model(name=version.name)


def check_bulk(google, platform, experiment, folder, version, rows):
    """A batch prediction by the version is what its run has predicted of its test split."""
    found = in_bulk(google, platform, experiment, version, rows)
    client = bigquery.Client(project="local-gcp")
    written = client.query_and_wait(f"SELECT * FROM `{found['output']}`")
    answers = {row["key"]: row for row in written}
    for example in challenger_of(folder).examples:
        answer = answers[example.key]
        assert answer["label"] == example.prediction["label"]
        assert_answered(json.loads(answer["prediction"]), example)


def in_bulk(google, platform, experiment, version, instances):
    """The record of a batch prediction by the version, which answers every instance."""
    predicted = run_dag(prediction.build(experiment, platform), model=version)
    assert predicted.state == "success", states(predicted)
    runs = google.buckets / platform.bucket / experiment.name / "predictions"
    (record,) = runs.glob("*/predictions.json")
    found = read(record)
    counts = found["instances"], found["predicted"], found["failed"]
    assert counts == (instances, instances, 0)
    return found


def assert_answered(answer, example):
    """The answer is what the run has predicted of its test split's example."""
    assert answer["label"] == example.prediction["label"]
    expected = example.prediction["probabilities"]
    assert answer["probabilities"] == pytest.approx(expected, abs=1e-6)


def check_bulk_images(google, platform, experiment, folder):
    """A batch prediction by the champion is what its run has predicted of its test split."""
    found = in_bulk(google, platform, experiment, "champion", 1797)
    output = google.buckets / found["output"].removeprefix("gs://")
    written = [line for file in output.glob("prediction*") for line in file.open()]
    told = map(lines.of_file, written)
    # The key of an image is its place in the bucket.
    answers = {file.removeprefix(f"gs://{platform.bucket}/"): answer for file, _, answer in told}
    for example in challenger_of(folder).examples:
        assert_answered(answers[example.key], example)


def explained(platform, name, instance):
    """What the endpoint answers to an instance, with its explanation."""
    found = endpoint.find(platform, layout.Run(platform.bucket, name, ""))
    client = api.PredictionServiceClient(
        client_options={"api_endpoint": f"{platform.region}-aiplatform.googleapis.com"}
    )
    sent = [json_format.ParseDict(part, struct_pb2.Value()) for part in (instance, {"explain": {}})]
    answer = client.predict(endpoint=found.name, instances=sent[:1], parameters=sent[1])
    (prediction,) = type(answer).pb(answer).predictions
    return json_format.MessageToDict(prediction)


def shares(folder):
    """Percent of the requests that a run's model had at each smoke test."""
    steps = read(folder / "deployment.json")["steps"]
    return [step["share"] for step in steps if step["step"].startswith("smoke")]


def challenger_of(folder):
    """challenger.json of a run."""
    address = folder / "leaderboard/challenger.json"
    return Challenger.parse(address.read_text(), str(address))


def read(path):
    """A JSON file."""
    return json.loads(path.read_text())

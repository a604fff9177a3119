"""Whole runs in which a served model is followed by another one, put back, and followed again."""

import json

from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format, struct_pb2

from tests.airflow_side import run_dag
from tests.trellis.workflow.whole_runs import states
from trellis.workflow.assembly import rollback, training
from trellis.workflow.contracts import layout
from trellis.workflow.lookups import endpoint
from trellis.workflow.stages.deploy import smoke_requests
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


def challenger_of(folder):
    """challenger.json of a run."""
    address = folder / "leaderboard/challenger.json"
    return Challenger.parse(address.read_text(), str(address))


def read(path):
    """A JSON file."""
    return json.loads(path.read_text())

"""Contents of Vertex AI Experiments, read by Google's SDK."""

import pytest
from google.cloud import aiplatform
from google.cloud.aiplatform_v1 import MetadataServiceClient

from trellis.vertex.experiments import ExperimentError, ExperimentRun, record

LOCATION = "projects/local-gcp/locations/us-central1"


@pytest.fixture
def client(google):
    options = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
    return MetadataServiceClient(client_options=options)


@pytest.fixture
def frame(google):
    """The SDK's table of an experiment's runs, by name."""

    def frame(experiment):
        aiplatform.init(project="local-gcp", location="us-central1")
        found = aiplatform.Experiment(experiment).get_data_frame(include_time_series=False)
        return found.set_index("run_name").sort_index()

    return frame


def test_the_sdk_finds_runs_with_parameters_and_metrics(client, frame, name):
    runs = [
        ExperimentRun("r training/1", {"model": "dense", "units": 32}, {"auc": 0.9}),
        ExperimentRun("r bqml", {"kind": "bqml"}, {"auc": 0.8}),
    ]
    record(client, LOCATION, name, runs)
    # The same run again, after its comparison was cleared.
    record(client, LOCATION, name, [ExperimentRun("r training/1", {"units": 64}, {"auc": 0.95})])
    record(client, LOCATION, name, [ExperimentRun("s training/1", {"units": 16}, {"auc": 0.7})])
    found = frame(name)
    assert sorted(found["metric.auc"]) == [0.7, 0.8, 0.95]
    assert set(found["state"]) == {"COMPLETE"}
    (best,) = found[found["metric.auc"] == 0.95].to_dict("records")
    assert (best["experiment_name"], best["param.units"]) == (name, 64)
    run = aiplatform.ExperimentRun(found.index[found["metric.auc"] == 0.95][0], experiment=name)
    assert run.get_params() == {"units": 64}


def test_names_that_differ_have_runs_of_their_own(client, frame, name):
    long = "manual__2026-05-01T00:00:00+00:00 " + 100 * "x"
    names = [
        "a training/1",
        "a training-1",
        "A training/1",
        f"{long} training/1",
        f"{long} training/2",
    ]
    record(client, LOCATION, name, [ExperimentRun(each, {}, {"auc": 1}) for each in names])
    found = frame(name)
    assert len(found) == len(names)
    assert max(len(f"{name}-{run}") for run in found.index) <= 128


def test_another_context_of_that_name_is_left_alone(client, name):
    record(client, LOCATION, "other", [ExperimentRun(name, {}, {"auc": 1})])
    taken = f"other-{name}"
    with pytest.raises(ExperimentError, match=r"is a system.ExperimentRun, no system.Experiment"):
        record(client, LOCATION, taken, [])

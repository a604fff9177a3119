from google.cloud.aiplatform_v1 import MetadataServiceClient

from trellis.workflow.contracts.layout import Run
from trellis.workflow.stages import result, vertex_experiment

CONTENDER = {"status": "ok", "training": None, "hyperparameters": {}}
BOARD = {
    "contenders": [
        {
            **CONTENDER,
            "name": "training/2",
            "kind": "tensorflow",
            "metrics": {"accuracy": {"value": 0.97}, "auc": {"value": None}},
            "training": {"model": "convolutional", "seed": 3},
            "hyperparameters": {"filters": 16, "augment": True},
        },
        {
            **CONTENDER,
            "name": "baselines/automl",
            "kind": "automl",
            "metrics": {"accuracy": {"value": 0.9}},
        },
        {**CONTENDER, "name": "training/3", "kind": "tensorflow", "status": "failed"},
    ],
}


def test_each_scored_contender_is_a_run():
    training, baseline = vertex_experiment.runs("demo", BOARD)
    assert training.name == "demo training/2"
    assert training.metrics == {"accuracy": 0.97}
    assert training.parameters == {
        "kind": "tensorflow",
        "model": "convolutional",
        "seed": 3,
        "filters": 16,
        "augment": "true",
    }
    assert (baseline.name, baseline.parameters) == ("demo baselines/automl", {"kind": "automl"})


def test_they_are_written_below_the_experiment(google, group, capsys):
    vertex_experiment.write(group, Run(group.bucket, "written", "demo"), BOARD)
    assert "Vertex AI Experiments has 2 contenders of demo in written" in capsys.readouterr().out
    options = {"api_endpoint": f"{group.region}-aiplatform.googleapis.com"}
    client = MetadataServiceClient(client_options=options)
    store = f"projects/{group.project}/locations/{group.region}/metadataStores/default"
    parent = f'parent_contexts:"{store}/contexts/written"'
    found = client.list_contexts(request={"parent": store, "filter": parent})
    titles = sorted(one.display_name.rpartition("-")[0] for one in found)
    assert titles == ["demo-baselines-automl", "demo-training-2"]


def test_a_run_does_not_fail_by_it(group, monkeypatch, capsys):
    def refused(*_):
        raise PermissionError("no aiplatform.contexts.create")

    monkeypatch.setattr(vertex_experiment, "record", refused)
    result._to_vertex_experiments(group, Run(group.bucket, "digits", "demo"), BOARD)
    said = capsys.readouterr().out
    assert said == "Vertex AI Experiments does not have this run: no aiplatform.contexts.create\n"

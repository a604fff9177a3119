import pytest
from google.cloud.aiplatform_v1 import MetadataServiceClient

from tests.trellis.results.made import a_contender, a_leaderboard
from tests.wording import says
from trellis.workflow.contracts.layout import Run
from trellis.workflow.stages import result, vertex_experiment

FACTS = {
    "model": "convolutional",
    "seed": 3,
    "parameters": 9,
    "strategy": "single",
    "epochs_run": 2,
    "best_epoch": 1,
    "validation": {"accuracy": 0.9},
    "replicas": 1,
    "weights_sha256": "0" * 64,
}
BOARD = a_leaderboard(
    a_contender(
        "training/2",
        0.97,
        0.95,
        0.98,
        training=FACTS,
        hyperparameters={"filters": 16, "augment": True},
    ),
    a_contender("baselines/automl", 0.9, 0.8, 0.95, kind="automl"),
    a_contender("training/3", 0, 0, 0, status="failed", metrics={}),
)


def test_each_scored_contender_is_a_run():
    training, baseline = vertex_experiment.runs("demo", BOARD)
    assert training.name == "demo training/2"
    assert training.metrics == {"accuracy": 0.97, "log_loss": pytest.approx(0.03)}
    assert training.parameters == {
        "kind": "training",
        "model": "convolutional",
        "seed": 3,
        "filters": 16,
        "augment": "true",
    }
    assert (baseline.name, baseline.parameters) == ("demo baselines/automl", {"kind": "automl"})


def test_they_are_written_below_the_experiment(google, group, capsys):
    vertex_experiment.write(group, Run(group.bucket, "written", "demo"), BOARD)
    assert says(capsys.readouterr().out, "2 contenders", "demo", "written")
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
    assert says(said, "Experiments does not have this run", "no aiplatform.contexts.create")

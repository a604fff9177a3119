"""Whole runs of which one training goes on from the champion's weights."""

import json
import shutil

import pytest

from tests.airflow_side import run_dag
from tests.trellis.vertex import deploying
from tests.trellis.workflow.whole_runs import a_dag, folder, jobs, rendered, states
from tests.wording import says
from trellis_contracts.dataset import SPLITS, Counts, DatasetDescription, Shard, Split, shard_name
from trellis_contracts.dataset_features import Feature

__all__ = ["a_dag", "folder"]

START = {("train", "start"): "champion"}


def uri(path):
    return f"gs://{path.parents[2].name}/{'/'.join(path.parts[-3:])}/"


def describe(run):
    """Write the dataset's description, of which the stand-in of the export has written the name."""
    (dataset,) = run.parents[1].glob("datasets/*/dataset.json")
    shards = {split: (Shard(shard_name(split, 0, 1), 10, 100),) for split in SPLITS}
    description = DatasetDescription(
        fingerprint=dataset.parent.name,
        source={"manifest": "gs://b/manifest.csv"},
        split=Split("key 80/10/10"),
        features=(Feature("image", "image", "uint8", "png", (8, 8, 1)),),
        classes=("0", "1"),
        counts={split: Counts(10, {"0": 5, "1": 5}) for split in SPLITS},
        files=shards,
        rejected=0,
    )
    dataset.write_text(description.to_json())


def promote(dag, run):
    """Make the first training of a run the champion, as a deployment does."""
    describe(run)
    training = run / "training/1"
    (training / "model").mkdir(exist_ok=True)
    (training / "model/saved_model.pb").write_text("a model")
    checkpoint = training / "checkpoints/step-0000000002-epoch-000002"
    checkpoint.mkdir(parents=True)
    for name in ("best.npz", "state.json"):
        (checkpoint / name).write_text("{}")
    sent = deploying.model(dag.dag_id) | {
        "artifact_uri": f"{uri(run)}training/1/model",
        "version_description": json.dumps({"run": uri(run)}),
    }
    return deploying.register(dag.dag_id, aliases=("champion",), run_id=run.name, sent=sent)


def test_beside_the_best_trials_one_training_goes_on_from_a_champion_that_fits(
    google, a_dag, folder, capfd
):
    dag = a_dag(changes=START)
    earlier = goes_on(dag, folder, cold=2)
    capfd.readouterr()

    # A champion that does not fit is refused before any training.
    shutil.rmtree(earlier / "training/1/checkpoints")
    metrics = earlier / "training/1/metrics.json"
    metrics.write_text(metrics.read_text().replace("convolutional", "dense"))
    made = len(jobs(google, dag))
    run = run_dag(dag)
    assert run.state == "failed"
    assert states(run)["start"] == "failed"
    assert len(jobs(google, dag)) == made
    out = capfd.readouterr().out
    assert says(out, "model is dense", "convolutional")
    assert "has kept no weights" in out
    assert "Nothing was spent on training" in out


@pytest.mark.slow
def test_beside_a_training_without_a_search_one_goes_on(google, a_dag, folder):
    fixed = {("tune",): None, ("train", "maximize"): "accuracy", ("train", "top"): 1,
             ("hyperparameters",): {"learning_rate": 0.007}}  # fmt: skip
    goes_on(a_dag(changes=START | fixed), folder, cold=1)


def goes_on(dag, folder, cold):
    """Two runs, the second after the first one's model became the champion. cold: number of
    trainings that begin with new weights. Returns the folder of the first run.
    """
    first = run_dag(dag)
    assert first.state == "success", states(first)
    # There was no champion.
    assert not (folder(dag) / "start.json").exists()
    assert {p.name for p in (folder(dag) / "training").iterdir()} == set("12"[:cold])
    planned = json.loads((folder(dag) / "plan.json").read_text())
    assert planned["jobs"]["custom"] == cold + 2
    earlier = folder(dag)
    version = promote(dag, earlier)
    # One of its hyperparameters is gone since.
    metrics = earlier / "training/1/metrics.json"
    trained = json.loads(metrics.read_text())
    trained["hyperparameters"]["momentum_of_old"] = 0.9
    metrics.write_text(json.dumps(trained))

    run = run_dag(dag)
    assert run.state == "success", states(run)
    (own,) = {*earlier.parent.iterdir()} - {earlier}
    start = json.loads((own / "start.json").read_text())
    assert start["version"].rpartition("/")[2] == version.rpartition("/")[2]
    assert start["weights"].endswith("training/1/checkpoints/step-0000000002-epoch-000002/best.npz")
    job = rendered(run, f"train {cold}")["custom_job"]
    assert job["display_name"].endswith(f"training/{cold + 1}, from the champion")
    arguments = job["job_spec"]["worker_pool_specs"][0]["container_spec"]["args"]
    assert f"--start={start['weights']}" in arguments
    rate = start["hyperparameters"]["learning_rate"]
    assert f"--learning_rate={rate}" in arguments
    assert not any("momentum_of_old" in argument for argument in arguments)
    for rank in range(cold):
        job = rendered(run, f"train {rank}")["custom_job"]
        args = job["job_spec"]["worker_pool_specs"][0]["container_spec"]["args"]
        assert not any(argument.startswith("--start") for argument in args)
    board = json.loads((own / "leaderboard/leaderboard.json").read_text())
    assert f"training/{cold + 1}" in {contender["name"] for contender in board["contenders"]}
    return earlier

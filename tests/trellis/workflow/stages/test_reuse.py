"""Results that a run reuses from earlier ones, and when it must not."""

import json
import shutil

import pytest
from airflow.sdk.exceptions import AirflowFailException

from tests.contracts.datasets import IMAGE
from tests.contracts.datasets import dataset as described
from tests.trellis.results.made import a_leaderboard, a_training
from tests.trellis.workflow.plans import plan_run
from tests.wording import says
from trellis.workflow.contracts.record import RunRecord
from trellis.workflow.lookups import records, reused
from trellis.workflow.validation.file import with_changes

BUCKET = "reuse-tests"
PROVEN = "us-central1-docker.pkg.dev/stand-in/trellis"
MANIFEST = "".join(f"gs://{BUCKET}/{n}.png,{n % 10}\n" for n in range(500))


@pytest.fixture
def proven(group):
    return group.model_copy(update={"bucket": BUCKET, "registry": PROVEN})


@pytest.fixture
def experiment(google, digits):
    """Without a search: one training, which is all that a run makes."""
    shutil.rmtree(google.buckets / BUCKET, ignore_errors=True)
    (google.buckets / BUCKET / "digits").mkdir(parents=True)
    (google.buckets / BUCKET / "digits/manifest.csv").write_text(MANIFEST)
    changes = {
        ("tune",): None,
        ("train", "maximize"): "accuracy",
        ("train", "top"): 1,
        ("baselines", "automl"): None,
    }
    return with_changes(digits, changes)


@pytest.fixture
def finished(google, experiment, proven):
    """A run that has come to a leaderboard. Returns the folder of its training."""

    def finished(name="earlier", platform=proven):
        made = plan_run(experiment, platform, name)
        dataset = google.buckets / made.dataset.uri.removeprefix("gs://")
        dataset.mkdir(parents=True, exist_ok=True)
        (dataset / "dataset.json").write_text(json.dumps(described(IMAGE)))
        folder = google.buckets / made.run.training(1).removeprefix("gs://")
        a_training(folder, [0.9])
        (folder / "checkpoints").mkdir()
        (folder / "checkpoints/1").write_text("weights")
        (folder / "model").mkdir()
        (folder / "model/saved_model.pb").write_text("model")
        records.begin(platform, made.run, RunRecord.planned(made.file()))
        records.end(platform, made.run, a_leaderboard(), None, None)
        return folder

    return finished


def reuse_of(experiment, platform, name="run", **conf):
    return plan_run(experiment, platform, name, **{"reuse": True, **conf}).reuse


def test_an_equal_training_is_reused_only_when_asked(experiment, proven, finished):
    finished()
    found = reuse_of(experiment, proven)
    assert found.steps == {"training/1": f"gs://{BUCKET}/digits/runs/earlier/training/1/"}
    assert found.lines() == [f"Reused, no job: training/1 from {found.steps['training/1']}"]
    assert reuse_of(experiment, proven, "not-asked", reuse=False).steps == {}


@pytest.mark.parametrize("conf", [{"seed": 7}, {"train_epochs": 2}, {"batch_size": 16}])
def test_another_training_is_not(experiment, proven, finished, conf):
    finished()
    found = reuse_of(experiment, proven, **conf)
    assert found.steps == {}
    (line,) = found.lines()
    assert says(line, "Nothing is reused", "no finished run")


def test_an_image_without_a_known_digest_proves_nothing(experiment, proven, finished):
    tagged = proven.model_copy(update={"registry": "example.com/stand-in"})
    finished(platform=tagged)
    found = reuse_of(experiment, tagged)
    assert found.digests == found.steps == {}
    assert says(found.remark, "example.com/stand-in", "not in an Artifact Registry")


def test_a_training_that_is_not_whole_and_a_dataset_made_anew_are_not(
    google, experiment, proven, finished
):
    folder = finished()
    (folder / "metrics.json").unlink()
    assert reuse_of(experiment, proven).steps == {}
    finished("whole")
    shutil.rmtree(google.buckets / BUCKET / "digits/datasets")
    assert reuse_of(experiment, proven, "later").remark == "the dataset is exported again"


def test_a_copy_is_whole_repeatable_and_without_checkpoints(google, experiment, proven, finished):
    earlier = finished()
    plan = plan_run(experiment, proven, "run", reuse=True)
    source, target = plan.reuse.steps["training/1"], plan.run.training(1)
    own = google.buckets / target.removeprefix("gs://")
    metrics = (earlier / "metrics.json").read_bytes()
    for _ in range(2):
        assert reused.training(proven.connection, source, target)["reused"] == source
        names = {str(file.relative_to(own)) for file in own.rglob("*") if file.is_file()}
        assert names >= {"metrics.json", "model/saved_model.pb"}
        assert not any("checkpoints" in name for name in names)
        assert (own / "metrics.json").read_bytes() == metrics
        # Gone in between, which a finished copy does not notice; nor does its plan.
        shutil.rmtree(earlier, ignore_errors=True)
        assert reuse_of(experiment, proven).steps == plan.reuse.steps


def test_what_was_deleted_before_it_was_copied_is_an_error_and_planned_anew(
    experiment, proven, finished
):
    earlier = finished()
    plan = plan_run(experiment, proven, "run", reuse=True)
    shutil.rmtree(earlier)
    source = plan.reuse.steps["training/1"]
    with pytest.raises(AirflowFailException, match="no longer there: clear `plan`"):
        reused.training(proven.connection, source, plan.run.training(1))
    assert reuse_of(experiment, proven).steps == {}


def test_what_a_run_has_begun_by_a_job_of_its_own_stays(google, experiment, proven, finished):
    finished()
    plan = plan_run(experiment, proven, "run")
    own = google.buckets / plan.run.training(1).removeprefix("gs://")
    (own / "checkpoints").mkdir(parents=True)
    (own / "checkpoints/1").write_text("a job's own")
    assert reuse_of(experiment, proven).steps == {}


def test_a_limit_that_only_reuse_keeps_within_the_budget(experiment, proven, finished):
    finished()
    bound = plan_run(experiment, proven, "without").cost
    usd = bound["at_most_usd"] - bound["stages"]["train"] / 2
    plan = plan_run(experiment, proven, "run", reuse=True, budget=f"{usd:.2f} USD")
    assert plan.cost["stages"]["train"] == 0
    assert plan.jobs["custom"] == 1
    assert json.loads(json.dumps(plan.file().to_document()))["reuse"]["steps"]

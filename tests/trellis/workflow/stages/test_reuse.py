"""Which jobs are equal, and what a copy has."""

import dataclasses

import pytest

from tests.trellis.results.conftest import client
from tests.trellis.workflow.plans import a_plan
from trellis.workflow.contracts.layout import Run
from trellis.workflow.stages import train, tune
from trellis.workflow.stages.reuse import LABEL, copy
from trellis.workflow.validation.file import with_changes

__all__ = ["client"]

CHOSEN = {"rank": 1, "trial": "4", "parameters": {"learning_rate": 0.01, "filters": 32}}
IMAGE = "us-central1-docker.pkg.dev/local-gcp/trellis/trainer:0.1.0"


@pytest.fixture
def labels(digits, group):
    """Of both jobs of a run: labels(changes of the experiment, changes of the plan)."""

    def labels(changes=None, folder="r", images=None, **of_plan):
        experiment = with_changes(digits, changes or {})
        plan = a_plan(experiment, Run(group.bucket, "digits", folder))
        images = {IMAGE: "sha256:1"} if images is None else images
        plan = dataclasses.replace(plan, images=images, **of_plan)
        jobs = tune.job(plan, group), train.job(plan, group, CHOSEN)
        return [job["labels"].get(LABEL) for job in jobs]

    return labels


def test_a_later_run_of_the_same_has_equal_jobs(labels):
    assert labels() == labels(folder="another")
    assert len(set(labels())) == 2
    assert labels() == labels(
        {("owner",): "somebody", ("budget",): "1 USD", ("schedule",): "@daily"}
    )


@pytest.mark.parametrize(
    "changes",
    [
        {("seed",): 1},
        {("hyperparameters",): {"augment": True}},
        {("train", "epochs"): 26, ("tune", "epochs"): 5},
        {("tune", "maximize"): "balanced_accuracy"},
    ],
)
def test_what_changes_a_result_makes_another_job(labels, changes):
    assert not set(labels()) & set(labels(changes))


def test_another_dataset_or_image_makes_another_job(labels, digits, group):
    assert not set(labels()) & set(labels(images={IMAGE: "sha256:2"}))
    plan = a_plan(digits, Run(group.bucket, "digits", "r"))
    other = dataclasses.replace(plan.dataset, uri="gs://b/digits/datasets/beef/")
    assert not set(labels()) & set(labels(dataset=other))


def test_only_the_search_decides_on_trials(labels):
    (tuned, trained), (other, same) = labels(), labels({("tune", "trials"): 7})
    assert tuned != other
    assert trained == same


def test_an_unknown_image_equals_none(labels):
    assert labels(images={}) == [None, None]


@pytest.fixture
def source(google, request):
    folder = google.buckets / "reuse-tests" / request.node.name
    for name in ("model/saved_model.pb", "metrics.json", "checkpoints/1/state.json", "seeds/1/x"):
        (folder / "old" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "old" / name).write_text(name)
    return folder


def test_a_copy_has_all_but_checkpoints_and_repeats(source, client):
    base = f"gs://reuse-tests/{source.name}/"
    for _ in range(2):
        assert copy(client, f"{base}old/", f"{base}new/") == 2
    copied = {str(f.relative_to(source / "new")) for f in source.rglob("new/**/*") if f.is_file()}
    assert copied == {"model/saved_model.pb", "metrics.json"}


def test_without_the_mark_nothing_is_copied(source, client):
    (source / "old/metrics.json").unlink()
    base = f"gs://reuse-tests/{source.name}/"
    assert copy(client, f"{base}old/", f"{base}new/") == 0
    assert not (source / "new").exists()

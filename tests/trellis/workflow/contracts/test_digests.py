"""Digests of jobs: what changes a result changes them, and nothing else does."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trellis.workflow.plans import a_plan
from trellis.workflow.contracts import digests
from trellis.workflow.contracts.layout import Run
from trellis.workflow.stages import train, tune
from trellis.workflow.validation.file import with_changes
from trellis_contracts import job_image


def images(job, digest="sha256:1"):
    return dict.fromkeys(digests.images_of(job), digest)


@pytest.fixture(scope="module")
def of(digits, group):
    """Both digests of a run of the demo's experiment, with changes of file and platform."""

    def of(changes=None, run="r", generation=1, files=None, image="sha256:1", **platform):
        experiment = with_changes(digits, changes or {})
        plan = a_plan(experiment, Run(group.bucket, "digits", run))
        own = group.model_copy(update=platform)
        jobs = tune.job(plan, own), train.job(plan, own, train.UNTUNED)
        functions = digests.of_tuning, digests.of_training
        return tuple(
            function(job, generation, files or {}, images(job, image))
            for function, job in zip(functions, jobs, strict=True)
        )

    return of


@pytest.mark.parametrize(
    ("changes", "differ"),
    [
        ({("train", "epochs"): 3}, (False, True)),
        ({("tune", "trials"): 2, ("tune", "parallel"): 1}, (True, False)),
        ({("tune", "timeout"): "7 minutes"}, (True, False)),
        ({("train", "timeout"): "7 minutes"}, (False, False)),
        ({("train", "machines"): {"workers": 3}}, (False, True)),
        ({("seed",): 9}, (True, True)),
        ({("hyperparameters",): {"batch_size": 16}}, (True, True)),
        ({("owner",): "somebody"}, (False, False)),
        ({("budget",): "99 USD"}, (False, False)),
        ({("train", "top"): 1}, (False, False)),
        ({("train", "seeds"): 3}, (False, False)),
        ({("deploy",): None}, (False, False)),
    ],
)
def test_of_the_file_what_a_job_does_counts(of, changes, differ):
    assert tuple(a != b for a, b in zip(of(), of(changes), strict=True)) == differ


def test_addresses_and_accounts_do_not_count_and_images_and_files_do(of):
    same = of()
    assert of(run="another") == same
    assert of(service_account=None, network=None, labels={"a": "b"}) == same
    board = "projects/lab/locations/us-central1/tensorboards/7"
    assert of(service_account="jobs@lab.iam.gserviceaccount.com", tensorboard=board) == same
    # Another tag of the same image.
    assert of(registry="us-central1-docker.pkg.dev/moved/here") == same
    for other in (of(image="sha256:2"), of(generation=2), of(files={"gs://b/w.h5": "crc"})):
        assert not set(other) & set(same)


def test_what_an_earlier_release_has_done_is_found_by_a_later_one(of, monkeypatch):
    before = of()
    monkeypatch.setattr(job_image, "VERSION", "7.1.0")
    assert of() == before


def test_without_an_images_digest_there_is_none(digits, group):
    job = train.job(a_plan(digits, Run(group.bucket, "digits", "r")), group, train.UNTUNED)
    assert digests.of_training(job, 1, {}, {}) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text("ab", max_size=2), part),
    max_leaves=8,
)


@given(JSON, JSON)
def test_two_jobs_have_one_digest_only_if_they_are_equal(one, other):
    a, b = (digests.of_training({"job_spec": {"args": part}}, 1, {}, {}) for part in (one, other))
    # 1 and true are different flags, which Python's == does not tell.
    assert (a == b) == (repr(_sorted(one)) == repr(_sorted(other)))
    kept = copy.deepcopy(one)
    digests.of_training({"job_spec": {"args": one}}, 1, {}, {})
    assert one == kept


def _sorted(part):
    if isinstance(part, dict):
        return {name: _sorted(part[name]) for name in sorted(part)}
    return [_sorted(each) for each in part] if isinstance(part, list) else part

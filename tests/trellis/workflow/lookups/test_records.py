"""The index, written to a real Cloud Storage."""

import pytest

from tests.trellis.results.made import a_leaderboard, a_plan_of, a_rollback, a_run
from trellis.results import load_index
from trellis.workflow.contracts import layout
from trellis.workflow.contracts.layout import Run
from trellis.workflow.lookups import documents, records, storage


@pytest.fixture
def platform(google, group, request):
    bucket = f"records-{request.node.name.replace('_', '-')}"[:60].rstrip("-")
    (google.buckets / bucket).mkdir()
    return group.model_copy(update={"bucket": bucket})


@pytest.fixture
def runs(platform):
    """The index as somebody sees it who has only the bucket."""

    def read():
        return load_index(storage._client(platform.connection), platform.bucket).runs

    return read


def test_a_run_is_there_from_its_plan_on(digits, platform, runs):
    run = Run(platform.bucket, "digits", "r")
    planned = a_run(digits, bucket=platform.bucket)
    records.begin(platform, run, planned)
    assert runs() == (planned,)
    records.end(platform, run, a_leaderboard(), None, None)
    (ended,) = runs()
    assert (ended.user, ended.result.value) == ("ada", 0.97)
    # A whole run that is cleared keeps its result until it has another.
    records.begin(platform, run, planned)
    assert runs() == (ended,)


def test_a_dataset_counts_as_used_when_a_run_came_to_a_leaderboard(digits, platform):
    run = Run(platform.bucket, "digits", "r")
    records.begin(platform, run, a_run(digits, bucket=platform.bucket))
    storage.write_json(platform, run.record.replace("/r.json", "/other.json"), {"format": 2})
    assert records.trained_on(platform, "digits") == frozenset()
    records.end(platform, run, a_leaderboard(), None, "it is not served")
    assert records.trained_on(platform, "digits") == {"3f2a"}
    assert records.trained_on(platform, "another") == frozenset()


def test_a_run_that_was_planned_before_there_was_an_index(digits, platform, runs):
    run = Run(platform.bucket, "digits", "old")
    documents.write(platform, "plan", run.plan, a_plan_of(digits, "old", platform.bucket))
    records.end(platform, run, a_leaderboard(), None, "a training failed")
    (found,) = runs()
    assert (found.folder, found.trigger, found.result.failure) == ("old", None, "a training failed")


def test_a_record_of_another_version_is_made_again(digits, platform, runs):
    run = Run(platform.bucket, "digits", "r")
    documents.write(platform, "plan", run.plan, a_plan_of(digits, "r", platform.bucket))
    storage.write_json(platform, run.record, {"format": 2})
    records.end(platform, run, a_leaderboard(), None, None)
    assert [found.result.value for found in runs()] == [0.97]


def test_a_rollback_is_recorded_once(platform):
    address = layout.rollback_record(platform.bucket, "digits", "a:b")
    for user in ("ada", "grace"):
        rollback = a_rollback(before=None, user=user).model_copy(update={"run_id": "a:b"})
        records.add_champion(platform, address, rollback)
    (found,) = load_index(storage._client(platform.connection), platform.bucket).champions
    assert (found.user, found.run_id, found.before) == ("ada", "a:b", None)

"""Runs that are kept: by age, by versions of models, and the newest result."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trellis.results.made import a_board, a_run
from trellis.retention import needs
from trellis.retention.needs import ModelVersion

NOW = datetime(2026, 11, 1, tzinfo=UTC)
DAYS = 90


@pytest.fixture(scope="module")
def past(digits):
    """Makes the record of a run that ended so many days ago."""

    def make(days, folder="r", experiment="digits", dataset="3f2a", ended=True):
        record = a_run(digits, folder, board=a_board())
        moment = (NOW - timedelta(days=days)).isoformat()
        return record.model_copy(
            update={
                "experiment": experiment,
                "uri": f"gs://bucket/{experiment}/runs/{folder}/",
                "dataset": dataset,
                "begun": moment,
                "result": record.result.model_copy(update={"ended": moment}) if ended else None,
            }
        )

    return make


def kept(runs, *versions, now=NOW):
    found = needs.of(runs, versions, DAYS, now)
    return {run.folder for run in runs} - {run.folder for run in found.expired}


def test_young_runs_and_the_newest_result_are_kept(past):
    runs = [past(400, "old"), past(300, "last"), past(10, "other", "cells"), past(80, "x", "cells")]
    assert kept(runs) == {"last", "other", "x"}


def test_a_run_that_a_version_came_from_is_kept_whatever_its_age(past):
    runs = [past(4000, "champion", dataset="aa"), past(300, "gone"), past(1, "new")]
    version = ModelVersion("projects/1/locations/r/models/digits@1", "digits", runs[0].uri)
    assert kept(runs, version) == {"champion", "new"}
    found = needs.of(runs, [version], DAYS, NOW)
    assert found.has("digits", "aa")
    assert "digits@1" in found.reasons[runs[0].uri]


def test_where_a_version_tells_nothing_everything_of_its_experiment_stays(past):
    runs = [past(400, "old"), past(1, "new"), past(400, "theirs", "cells"), past(1, "y", "cells")]
    unknown = ModelVersion("projects/1/locations/r/models/digits@1", "digits", "")
    assert kept(runs, unknown) == {"old", "new", "y"}
    # Its run is in no record: which dataset is its own cannot be said.
    lost = ModelVersion(
        "projects/1/locations/r/models/digits@1", "digits", "gs://bucket/digits/runs/lost/"
    )
    assert needs.of(runs, [lost], DAYS, NOW).has("digits", "any")
    assert not needs.of(runs, [lost], DAYS, NOW).has("cells", "any")


def test_a_run_without_an_end_may_be_in_flight(past, digits):
    waiting = past(50, "waiting", ended=False)
    found = needs.of([waiting, past(1, "new")], [], 7, NOW)
    assert found.expired == ()
    assert needs.of([waiting], [], 7, NOW + timedelta(days=60)).expired == (waiting,)


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.sampled_from("ab"), st.booleans()), max_size=20),
    st.sets(st.integers(0, 19)),
)
def test_no_needed_dataset_and_no_versions_run_expires(past, drawn, registered):
    runs = [
        past(days, f"r{n}", experiment, dataset=f"d{n % 3}", ended=ended)
        for n, (days, experiment, ended) in enumerate(drawn)
    ]
    versions = [
        ModelVersion(f"models/m@{n}", runs[n].experiment, runs[n].uri)
        for n in registered
        if n < len(runs)
    ]
    found = needs.of(runs, versions, DAYS, NOW)
    expired = {run.uri for run in found.expired}
    assert not expired & {version.run for version in versions}
    for run in runs:
        if run.uri not in expired:
            assert found.has(run.experiment, run.dataset)
        else:
            assert (NOW - needs.ended(run)).days >= DAYS

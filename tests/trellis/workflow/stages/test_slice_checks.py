"""Slices are counted on the frozen rows, and columns that there are not are refused by the plan."""

import pytest
from google.cloud.bigquery import QueryJobConfig

from tests.trellis.workflow.plans import plan_run
from tests.trellis.workflow.stages.frozen import client
from tests.wording import says
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.stages import check, job_messages, snapshot
from trellis.workflow.validation.file import with_changes
from trellis_contracts.slices import frozen_column

__all__ = ["client"]

ROWS = """
SELECT
  FORMAT('k%05d', n) AS sample_id,
  MOD(FARM_FINGERPRINT(CAST(n AS STRING)), 2) = 0 AS malignant,
  SIN(n) AS radius,
  CAST(MOD(n, 90) AS INT64) AS age,
  FORMAT('site %d', MOD(n, 51)) AS ward,
  IF(MOD(n, 51) = 0, NULL, FORMAT('site %d', MOD(n, 51))) AS ward_or_none,
  FORMAT('site %d', MOD(n, 50)) AS site,
  MOD(n, 50) < 25 AS `older device`,
  MOD(n, 50) AS device,
  [n] AS trace
FROM UNNEST(GENERATE_ARRAY(1, 3000)) AS n
"""


@pytest.fixture
def planned(breast_cancer, group, client):
    """Plans a run with these slices, on rows of which only two columns are features."""

    def planned(*slices, **source):
        source = {"bigquery": None, "partition": None, "query": ROWS} | source
        source = {"features": ["radius", "age"], **source}
        changes = {("source", name): value for name, value in source.items()}
        changed = with_changes(breast_cancer, {**changes, ("slices",): list(slices)})
        return plan_run(changed, group, "sliced")

    return planned


@pytest.fixture
def refused(planned, client, group):
    """What the checks find wrong with the slices."""

    def refused(*slices, **source):
        plan = planned(*slices, **source)
        # Another test may have frozen the same rows.
        client.delete_table(job_messages.snapshot(plan, group), not_found_ok=True)
        for job in (snapshot.job(plan, group), check.job(plan, group)):
            statement = job["query"].pop("query")
            config = QueryJobConfig.from_api_repr(job)
            rows = list(client.query_and_wait(statement, job_config=config))
        (row,) = rows
        problems, _, _ = check.evaluate(dict(row.items()), plan, group)
        return [problem for problem in problems if problem.startswith("slices")]

    return refused


def test_fifty_slices_are_compared_and_fifty_one_refused(refused):
    assert refused("site", {"age": [30, 60]}, ["older device", {"age": [45]}]) == []
    (found,) = refused("site", "ward")
    assert says(found, "slices[1]: ", "'ward'", "51 slices", "at most 50")
    (found,) = refused("ward_or_none")
    assert "'ward_or_none' would make 51 slices" in found


def test_of_a_pair_those_that_there_are_count(refused):
    # Each site has one of the two kinds of devices: 50 pairs in place of 100.
    assert refused(["site", "older device"]) == []
    (found,) = refused(["site", {"age": [45]}])
    assert "'site' and 'age' would make 100 slices" in found


def test_a_column_that_is_no_feature_is_frozen_and_learned_by_no_model(planned):
    plan = planned("SITE", {"age": [45]}, "malignant", ["older device", "radius"])
    assert [feature.name for feature in plan.table.features] == ["radius", "age"]
    kept = {one.name: one.column for one in plan.table.kept}
    assert kept == {"site": "site", "older device": "older_device"}
    frozen = plan.table.to_document()
    assert frozen_column(frozen, "SITE") == "site"
    assert frozen_column(frozen, "age") == "age"
    assert frozen_column(frozen, "malignant") == "label"


def test_bins_are_of_the_number_where_the_feature_is_a_category(planned):
    plan = planned({"device": [25]}, features=["radius", "device"], categorical=["device"])
    assert [feature.type for feature in plan.table.features] == ["FLOAT64", "STRING"]
    assert frozen_column(plan.table.to_document(), "device") == "device_2"


def test_slices_of_features_leave_the_dataset_as_it_is(planned):
    plain = planned()
    assert planned({"age": [45]}, "malignant").dataset.fingerprint == plain.dataset.fingerprint
    assert planned("site").dataset.fingerprint != plain.dataset.fingerprint


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("sitte", r"slices\[0\]: there is no column 'sitte'; did you mean 'site'"),
        (["site", "agge"], r"slices\[0\]: there is no column 'agge'; did you mean 'age'"),
        ("trace", r"slices\[0\]: 'trace' is ARRAY<INT64>, a slice is of one plain value"),
        ({"site": [1]}, r"slices\[0\]: 'site' is STRING, only numbers have bins"),
    ],
)
def test_a_column_that_cannot_divide_is_refused_before_anything_is_spent(planned, entry, message):
    with pytest.raises(SourceError, match=message):
        planned(entry)

"""Tables and queries, looked at by a real BigQuery: what is planned, what is refused and why."""

import dataclasses
import datetime
import json

import pytest

from tests.trellis.workflow.plans import plan_run
from trellis.workflow import sql
from trellis.workflow.contracts import run_params
from trellis.workflow.contracts.errors import NoRowsError, SourceError
from trellis.workflow.lookups import own_dataset
from trellis.workflow.spec.platform import PlatformError
from trellis.workflow.stages import automl_tables, bqml
from trellis.workflow.validation.file import with_changes

DATASET = "plan_tests"


def day(number):
    start = datetime.datetime(2024, 1, number, tzinfo=datetime.UTC)
    return start, start + datetime.timedelta(days=1)


@pytest.fixture(scope="module")
def client(google, group):
    """BigQuery with a table of 300 rows in three daily partitions, and the group's bucket."""
    from google.cloud import bigquery

    (google.buckets / group.bucket).mkdir(exist_ok=True)
    client = bigquery.Client(project=group.project, location=group.location)
    client.create_dataset(DATASET, exists_ok=True)
    client.query_and_wait(
        f"""
        CREATE TABLE {DATASET}.cells PARTITION BY measured_on AS
        SELECT
          CONCAT('s', CAST(n AS STRING)) AS sample_id,
          DATE_ADD(DATE '2024-01-01', INTERVAL MOD(n, 3) DAY) AS measured_on,
          MOD(n, 2) = 0 AS malignant,
          CAST(n AS FLOAT64) AS `mean radius`,
          MOD(n, 5) AS stage,
          TIMESTAMP_ADD(TIMESTAMP '2024-01-01', INTERVAL n HOUR) AS moment,
          [CAST(n AS FLOAT64), 0.5] AS trace
        FROM UNNEST(GENERATE_ARRAY(1, 300)) AS n
        """
    )
    return client


@pytest.fixture
def plan(client, breast_cancer, group):
    """Plans a run on a table or query, with some keys of the source changed."""

    def plan(run_id="plan", interval=(None, None), days=(None, None), **changes):
        source = {"bigquery": f"{DATASET}.cells", "partition": None} | changes
        if "query" in source:
            source["bigquery"] = None
        experiment = with_changes(breast_cancer, {("source", k): v for k, v in source.items()})
        chosen = {k: v for k, v in zip(run_params.DAYS, days, strict=True) if v}
        return plan_run(experiment, group, run_id, interval, **chosen)

    return plan


@pytest.fixture
def content(google, group):
    """A run's plan.json."""

    def content(run_id="plan"):
        folder = google.buckets / group.bucket / "breast-cancer/runs" / run_id
        return json.loads((folder / "plan.json").read_text())

    return content


def test_a_table_is_planned_without_reading_it(plan, content):
    planned = plan()
    found = content()
    assert found["dataset"]["examples"] == 300
    assert found["dataset"]["partition"] is None
    assert found["baselines"] == ["bqml-logistic_reg", "bqml-boosted_tree_classifier", "automl"]
    assert found["rates"]["training"] > 0
    kinds = {f["name"]: (f["column"], f["kind"]) for f in found["table"]["features"]}
    assert kinds == {
        "mean radius": ("mean_radius", "numeric"),
        "stage": ("stage", "numeric"),
        "moment": ("moment", "timestamp"),
        "trace": ("trace", "sequence"),
        "measured_on": ("measured_on", "timestamp"),
    }
    assert plan().dataset == planned.dataset


def test_a_runs_interval_selects_its_partition(plan, content):
    first = plan("first", day(1), partition="measured_on").dataset.fingerprint
    assert content("first")["dataset"]["examples"] == 100
    assert content("first")["dataset"]["partition"] == {
        "column": "measured_on",
        "from": "2024-01-01",
        "to": "2024-01-02",
    }
    assert plan("again", day(1), partition="measured_on").dataset.fingerprint == first
    assert plan("second", day(2), partition="measured_on").dataset.fingerprint != first
    assert plan("all", partition="measured_on").dataset.fingerprint != first
    two = plan(
        "days", days=("2024-01-01", "2024-01-03"), partition="measured_on"
    ).dataset.fingerprint
    assert content("days")["dataset"]["examples"] == 200
    assert two != first


def test_another_days_rows_leave_a_dataset_as_it_is(plan, client):
    """A backfill of what was done before finds its datasets, however the table has grown."""
    source = {"bigquery": f"{DATASET}.growing", "partition": "measured_on"}
    client.query_and_wait(
        f"CREATE TABLE {DATASET}.growing PARTITION BY measured_on AS SELECT * FROM {DATASET}.cells "
        "WHERE measured_on < '2024-01-03'"
    )
    first = plan(interval=day(1), **source).dataset.fingerprint
    client.query_and_wait(
        f"INSERT INTO {DATASET}.growing SELECT * FROM {DATASET}.cells "
        "WHERE measured_on = '2024-01-03'"
    )
    assert plan(interval=day(1), **source).dataset.fingerprint == first
    client.query_and_wait(
        f"INSERT INTO {DATASET}.growing SELECT * FROM {DATASET}.cells "
        "WHERE measured_on = '2024-01-01'"
    )
    assert plan(interval=day(1), **source).dataset.fingerprint != first


def test_a_timestamp_selects_half_open(plan, content):
    plan("hours", day(2), partition="moment")
    assert content("hours")["dataset"]["examples"] == 24


def test_a_query_is_a_source(plan, content):
    plan(query=f"SELECT * FROM {DATASET}.cells WHERE stage < 2;  -- the early ones")
    assert content()["dataset"]["examples"] is None
    assert content()["configuration"]["source"]["query"].startswith("SELECT *")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"bigquery": f"{DATASET}.cell"},
            rf"no table local-gcp.{DATASET}.cell \(source.bigquery\)",
        ),
        ({"bigquery": "nowhere.cells"}, r"no table local-gcp.nowhere.cells"),
        ({"label": "benign"}, r"source\.label.*'benign'"),
        ({"query": "SELECT 1 AS x"}, r"source\.key.*'sample_id'"),
        ({"query": f"SELECT *\nFROM {DATASET}.cells\nWHER stage = 1"}, r"Syntax error.*\[3:"),
        ({"query": f"SELECT sample_ids\nFROM {DATASET}.cells"}, r"sample_ids[^^]*\[1:8\]"),
        ({"query": "SELECT * FROM nowhere.cells"}, r"the query \(source.query\): .*nowhere"),
        ({"query": f"DELETE FROM {DATASET}.cells WHERE TRUE"}, "source.query is a DELETE"),
    ],
)
def test_a_source_that_cannot_be_used_is_refused(plan, changes, message):
    with pytest.raises(SourceError, match=message):
        plan(**changes)


def test_a_refused_query_is_shown_where_it_is_wrong(plan):
    query = f"SELECT\n  sample_ids\nFROM {DATASET}.cells"
    with pytest.raises(SourceError) as raised:
        plan(query=query)
    lines = str(raised.value).splitlines()
    assert lines[-2:] == ["     2 |   sample_ids", "       |   ^"]


def test_an_interval_without_rows_is_refused_and_the_rows_there_are_named(plan):
    with pytest.raises(SourceError, match=r"no rows with measured_on.*20240101 to 20240103"):
        plan(interval=day(9), partition="measured_on")
    with pytest.raises(SourceError, match=r"no rows with moment from 2024-02-28.*2024-01-13"):
        plan(days=("2024-02-28", "2024-03-01"), partition="moment")


def test_a_missing_name_in_a_wide_table_is_not_answered_with_all_of_them(plan):
    many = ", ".join(f"1.0 AS x{n}" for n in range(100))
    with pytest.raises(SourceError, match=r"no column 'sample_id'; Known: mal.* and 61 more$"):
        plan(query=f"SELECT TRUE AS malignant, {many}")


@pytest.mark.parametrize(
    ("features", "changes", "message"),
    [
        (["stage"], {("model",): "recurrent"}, "recurrent is for sequences"),
        (
            ["stage", "trace"],
            {("hyperparameters",): {"jit_compile": True}},
            "for inputs of one sha",
        ),
    ],
)
def test_a_recurrent_model_needs_a_sequence_and_xla_takes_none(
    plan, client, breast_cancer, group, features, changes, message
):
    experiment = with_changes(
        breast_cancer,
        {
            ("source", "bigquery"): f"{DATASET}.cells",
            ("source", "partition"): None,
            ("source", "features"): features,
            **changes,
        },
    )
    with pytest.raises(SourceError, match=message):
        plan_run(experiment, group, "recurrent")


def test_a_group_whose_dataset_is_elsewhere_is_reported(plan, client, group):
    from google.cloud.bigquery import Dataset

    dataset = Dataset(f"{group.project}.plan_tests_eu")
    dataset.location = "EU"
    client.create_dataset(dataset, exists_ok=True)
    elsewhere = group.model_copy(update={"dataset": "plan_tests_eu"})
    with pytest.raises(PlatformError, match=r"EU.*US.*platform\.yaml"):
        own_dataset.create(elsewhere)


def test_two_thousand_columns_are_refused_by_number(plan):
    many = ", ".join(f"1.0 AS x{n}" for n in range(2000))
    with pytest.raises(SourceError, match="2,000 columns would be features, at most 1,000"):
        plan(query=f"SELECT 's' AS sample_id, TRUE AS malignant, {many}")


def test_too_few_rows_for_automl_are_refused(plan, breast_cancer, group):
    """Google's minimum; the demo's platform.yaml has a lower one."""
    google = group.model_copy(update={"automl_minimum_rows": 1000})
    experiment = with_changes(breast_cancer, {("source", "bigquery"): f"{DATASET}.cells"})
    experiment = with_changes(experiment, {("source", "partition"): None})
    with pytest.raises(SourceError, match=r"AutoML needs at least 1,000 rows, .* source has 300;"):
        plan_run(experiment, google, "few")


def test_options_of_the_file_reach_create_model(plan, group):
    planned = plan("options")
    options = {
        "boosted_tree_classifier": {"tree_method": "HIST", "early_stop": False, "l2_reg": 1e-5}
    }
    changed = with_changes(planned.experiment, {("baselines", "options"): options})
    planned = dataclasses.replace(planned, experiment=changed)
    statement = bqml.script(planned, group, "boosted_tree_classifier")
    for line in ("tree_method = 'HIST',", "early_stop = FALSE,", "l2_reg = 1e-05,"):
        assert f"  {line}\n" in statement
    assert "early_stop" not in bqml.script(planned, group, "logistic_reg")


def test_the_groups_key_encrypts_what_baselines_make(plan, group):
    key = "projects/p/locations/us/keyRings/r/cryptoKeys/k"
    keyed = group.model_copy(update={"encryption_key": key})
    planned = plan("keyed")
    for statement in (
        bqml.script(planned, keyed, "logistic_reg"),
        automl_tables.views(planned, keyed)["query"]["query"],
    ):
        assert f"kms_key_name = {sql.literal(key)}" in statement
    assert "kms_key_name" not in bqml.script(planned, group, "logistic_reg")
    assert automl_tables.dataset(planned, keyed)["encryption_spec"] == {"kms_key_name": key}


def test_the_groups_key_is_the_default_of_a_dataset_that_it_makes(client, group, monkeypatch):
    made = []
    monkeypatch.setattr(type(client), "create_dataset", lambda _, d, **__: made.append(d) or d)
    key = "projects/p/locations/us/keyRings/r/cryptoKeys/k"
    own_dataset.create(group.model_copy(update={"encryption_key": key, "dataset": "not_there"}))
    (dataset,) = made
    assert dataset.to_api_repr()["defaultEncryptionConfiguration"] == {"kmsKeyName": key}


@pytest.fixture
def streamed(client):
    """A function: a table of its own, with loaded rows, and others that were streamed."""

    def streamed(name, loaded, more, partitioned=False):
        by_day = "PARTITION BY measured_on" if partitioned else ""
        rows = f"SELECT * FROM {DATASET}.cells ORDER BY sample_id LIMIT {loaded}"
        client.query_and_wait(f"CREATE OR REPLACE TABLE {DATASET}.{name} {by_day} AS {rows}")
        stream(client, f"{DATASET}.{name}", [f"x{n}" for n in range(more)])
        return f"{DATASET}.{name}"

    return streamed


def stream(client, name, keys):
    """Streams rows of the first day into a table like `cells`."""
    row = {"mean radius": 1.5, "stage": 2, "trace": [1.0, 0.5], "measured_on": "2024-01-01"}
    row |= {"moment": "2024-01-01T00:00:00Z"}
    rows = [row | {"sample_id": key, "malignant": n % 2 == 0} for n, key in enumerate(keys)]
    assert client.insert_rows_json(client.get_table(name), rows) == []


@pytest.mark.parametrize(("loaded", "more"), [(0, 300), (300, 600)])
def test_streamed_rows_count(streamed, plan, content, client, loaded, more):
    """Metadata leave out the rows of the streaming buffer; every query sees them."""
    name = streamed(f"streamed_{loaded}", loaded, more)
    assert client.get_table(name).num_rows == loaded
    plan(f"streamed-{loaded}", bigquery=name)
    assert content(f"streamed-{loaded}")["dataset"]["examples"] == loaded + more


def test_a_partition_whose_rows_were_streamed_has_rows(streamed, plan, content):
    name = streamed("streamed_by_day", 0, 120, partitioned=True)
    plan("streamed-day", day(1), bigquery=name, partition="measured_on")
    assert content("streamed-day")["dataset"]["examples"] == 120
    with pytest.raises(NoRowsError):
        plan("streamed-other-day", day(2), bigquery=name, partition="measured_on")


def test_rows_that_are_streamed_make_another_dataset(streamed, plan, client):
    name = streamed("streamed_on", 0, 120)
    before = plan("streamed-before", bigquery=name).dataset.fingerprint
    assert plan("streamed-same", bigquery=name).dataset.fingerprint == before
    stream(client, name, ["one more"])
    assert plan("streamed-after", bigquery=name).dataset.fingerprint != before

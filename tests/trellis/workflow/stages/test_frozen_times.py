"""Times to an event, frozen and checked by a real BigQuery."""

from google.cloud.bigquery import QueryJobConfig

from tests.trellis.workflow.plans import plan_run
from tests.trellis.workflow.stages.frozen import client, plan
from tests.wording import says
from trellis.workflow import labels
from trellis.workflow.stages import check, job_messages, snapshot
from trellis.workflow.validation.file import with_changes
from trellis_contracts.withheld import shown

__all__ = ["client", "plan"]

# Two in three have the event.
QUERY = """
SELECT
  CAST(n AS STRING) AS sample_id, n * 1.5 AS days, MOD(n, 3) > 0 AS died, SIN(n) AS noise
FROM UNNEST(GENERATE_ARRAY(1, 300)) AS n
"""
NUMBERS = QUERY.replace("MOD(n, 3) > 0", "IF(n > 298, NULL, IF(n > 297, 2, MOD(n, 2)))").replace(
    "n * 1.5", "IF(n = 5, NULL, IF(n < 4, -n, n))"
)


def frozen(client, group, breast_cancer, query, split=None):
    """The plan of a run on the rows of a query, and the result of the checks' query."""
    source = {
        "bigquery": None,
        "partition": None,
        "query": query,
        "label": {"time": "days", "event": "died", "horizons": [100]},
        "split": split or {"stratify": "died"},
    }
    changed = {("source", name): value for name, value in source.items()}
    changed |= {("task",): "time_to_event", ("baselines",): None, ("deploy",): None}
    changed |= {("tune", "maximize"): "concordance"}
    planned = plan_run(with_changes(breast_cancer, changed), group, "times")
    client.delete_table(job_messages.snapshot(planned, group), not_found_ok=True)
    for job in (snapshot.job(planned, group), check.job(planned, group)):
        statement = job["query"].pop("query")
        config = QueryJobConfig.from_api_repr(job)
        rows = list(client.query_and_wait(statement, job_config=config))
    return planned, rows[0]


def test_times_and_events_are_frozen_and_described(client, group, breast_cancer):
    planned, row = frozen(client, group, breast_cancer, QUERY)
    assert check.evaluate(row, planned, group)[0] == []
    assert sum(entry["events"] for entry in row["events"]) == 200
    table = job_messages.snapshot(planned, group)
    rows = client.query_and_wait(f"SELECT key, label, label_event FROM `{table}`")
    found = {row["key"]: (row["label"], row["label_event"]) for row in rows}
    assert found == {str(n): (n * 1.5, int(n % 3 > 0)) for n in range(1, 301)}
    columns = check.columns_json(planned, group, 300)
    assert columns["event"] == {"name": "died", "horizons": [100.0]}
    assert [feature["name"] for feature in columns["features"]] == ["noise"]


def test_times_and_events_that_are_none_are_counted(client, group, breast_cancer):
    planned, row = frozen(client, group, breast_cancer, NUMBERS)
    form = labels.of("time_to_event")
    (problem,) = map(shown, form.judge(row, planned.experiment.source))
    assert says(problem, ("'died'", "NULL in 2 rows", "neither 0 nor 1 in 1 row", "'298'"))
    (label,) = map(shown, check._labels(row, planned.table, "time_to_event"))
    assert says(label, ("'days'", "negative", "4 rows"))


def test_times_may_be_split_by_a_day(client, group, breast_cancer):
    """The past learns, what came later judges; the day itself is no feature."""
    query = QUERY.replace("SIN(n)", "DATE_ADD(DATE '2020-01-01', INTERVAL n DAY) AS seen, SIN(n)")
    split = {"time": "seen", "validation": "2020-07-01", "test": "2020-09-01"}
    planned, row = frozen(client, group, breast_cancer, query, split)
    assert check.evaluate(row, planned, group)[0] == []
    table = job_messages.snapshot(planned, group)
    statement = (
        f"SELECT split, COUNT(*) AS n, SUM(label_event) AS events FROM `{table}` GROUP BY split"
    )
    found = {row["split"]: (row["n"], row["events"]) for row in client.query_and_wait(statement)}
    days = {"train": range(1, 182), "validation": range(182, 244), "test": range(244, 301)}
    assert found == {
        name: (len(numbers), sum(n % 3 > 0 for n in numbers)) for name, numbers in days.items()
    }
    assert [one["name"] for one in check.columns_json(planned, group, 300)["features"]] == ["noise"]


def test_a_split_without_an_event_is_refused(client, group, breast_cancer):
    query = QUERY.replace("MOD(n, 3) > 0", "n < 200").replace(
        "SIN(n)", "DATE_ADD(DATE '2020-01-01', INTERVAL n DAY) AS seen, SIN(n)"
    )
    split = {"time": "seen", "validation": "2020-05-01", "test": "2020-09-01"}
    planned, row = frozen(client, group, breast_cancer, query, split)
    judge = labels.of("time_to_event").judge
    (problem,) = map(shown, judge(row, planned.experiment.source))
    assert says(problem, ("'died'", "test"))

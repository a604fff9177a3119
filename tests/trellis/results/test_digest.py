"""Text on a time's runs: the first line alone, then the rest."""

from datetime import UTC, datetime, timedelta

from google.cloud import storage

from tests.airflow_side import run_dag
from tests.trellis.results.made import (
    a_board,
    a_deployment,
    a_prediction,
    a_rollback,
    a_run,
    an_approval,
    with_cost,
)
from tests.wording import says
from trellis.google_api import RefusedError
from trellis.results import Index, digest, digest_dag
from trellis.results.digest import lines
from trellis.workflow.contracts.record import Failure
from trellis.workflow.endpoints.state import Endpoint, Model, State
from trellis.workflow.endpoints.survey import Survey
from trellis.workflow.spec.platform import Digest, Limits

START, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 8, tzinfo=UTC)


def index(*runs, rollbacks=()):
    return Index.of(runs, rollbacks, (), END.isoformat())


def test_a_week_with_everything(digits, breast_cancer):
    good = with_cost(a_run(digits, "good", a_board(), a_deployment()), {"tune": 0.5, "train": 1})
    bad = a_run(breast_cancer, "bad", a_board(), failure="training/2: out of memory\nTraceback")
    before = a_run(digits, "before", a_board(), created="2025-12-31T23:59:59+00:00")
    after = a_run(digits, "after", a_board(), created="2026-01-08T00:00:00+00:00")
    failure = Failure(at="2026-01-02", task="tune", why="no quota", so_far_usd={"export": 0.25})
    stopped = a_run(breast_cancer, "stopped").model_copy(update={"failure": failure})
    runs = (good, bad, stopped, a_run(digits, "open"), before, after)
    limits = Limits(group="20 USD", owners={digits.owner: "10 USD", "others": "5 USD"})
    text = lines(index(*runs, rollbacks=[a_rollback()]), START, END, limits)
    assert text[0] == (
        "Trellis, 2026-01-01 to 2026-01-08: 4 runs, 1.75 USD spent, 2 changes of a champion, "
        "2 failed, 1 without a result"
    )
    assert text[2].startswith("experiment     owner")
    (of_digits,) = (line for line in text if line.startswith("digits "))
    assert of_digits.split()[2:6] == ["2", "1.50", "USD", "3.84"]
    assert says(of_digits, "training/1", "accuracy", "0.9700 [0.9500, 0.9800]")
    back, promoted = (line for line in text if "in place of" in line)
    assert says(promoted, "2026-01-01 02:00", "digits: version 2 in place of 1", "ada")
    assert says(back, "digits: version 1 in place of 2", "rolled back", "ada")
    # The whole cause, on one line.
    assert any(says(line, "breast-cancer/bad", "out of memory Traceback") for line in text)
    assert "  breast-cancer/stopped: tune: no quota" in text
    assert "  digits/open, at most 1.92 USD" in text
    assert text[-3:] == [
        "2026-01, the group: 9.18 of 20 USD",
        f"2026-01, {digits.owner}: 9.18 of 10 USD",
        "2026-01, others: 0.00 of 5 USD",
    ]


def test_a_training_that_was_rejected_changes_no_champion(digits):
    run = a_run(digits, "r", a_board(), approval=an_approval())
    text = lines(index(run), START, END, None)
    assert "no changes of a champion" in text[0]
    (line,) = (line for line in text if "2026-01-02 02:00" in line)
    assert says(line, "digits", "not deployed, rejected by olga", "site B is worse")


def test_predictions_beyond_their_limits_are_told(digits):
    record = a_prediction(
        warnings=("feature 'x' has a mean 2.00 standard deviations above that of before",)
    )
    refused = record.model_copy(update={"predicted": None, "at": "2026-01-01T03:00:00+00:00"})
    good = record.model_copy(update={"warnings": ()})
    late = record.model_copy(update={"at": "2026-01-08T00:00:00+00:00"})
    found = Index.of((), (), (), END.isoformat(), (refused, late, good, record))
    text = lines(found, START, END, None)
    assert text[0].endswith(", 2 predictions beyond limits")
    first, why, second, again = text[3:]
    assert says(first, "2026-01-02 03:00", "digits, daily", "1,200")
    assert says(second, "2026-01-01 03:00", "digits, daily", "refused")
    assert why == again == f"    {record.warnings[0]}"


def test_requests_that_were_too_many_are_told(digits):
    warning = "the requests are more than a query may read"
    asked = a_prediction("requests of 2026-01-02", until="2026-01-02T02:50:00+00:00")
    unread = asked.model_copy(update={"predicted": None, "warnings": (warning,)})
    text = lines(Index.of((), (), (), END.isoformat(), (unread,)), START, END, None)
    assert says(text[-2], "2026-01-02 03:00", "digits, requests of 2026-01-02", "too many")
    assert text[-1] == f"    {warning}"


def test_a_week_without_runs_is_one_line(digits):
    old = a_run(digits, "old", a_board(), created="2025-01-01T00:00:00+00:00")
    (line,) = lines(index(old), START, END, None)
    assert says(line, "no runs, 0.00 USD")


def test_what_stands_around_the_runs(group, bucket, google):
    """The bucket with its growth, priced; nothing says that it is cleaned."""
    client = storage.Client(project="local-gcp")
    (google.buckets / bucket / "digest").mkdir(parents=True, exist_ok=True)
    held = sum(blob.size for blob in client.list_blobs(bucket))
    with (google.buckets / bucket / "digest/x").open("wb") as file:
        file.truncate(500_000_000)
    now = datetime.now(UTC)
    here = group.model_copy(update={"bucket": bucket, "retention": None})
    none = Survey((), None)
    text = digest.around(client, here, now - timedelta(days=1), now + timedelta(days=1), none)
    size = (held + 500_000_000) / 1e9
    usd = f"{0.02 * size:.2f} USD a month"
    assert says(text[2], f"gs://{bucket}", f"{size:.2f} GB", usd, f"{size:.2f} GB", usd)
    assert "`retention`" in text[2]
    before = digest.around(client, here, now - timedelta(days=9), now - timedelta(days=8), none)
    assert says(before[2], usd, "0.00 GB", "0.00 USD a month")
    # 0.06 USD an hour, 730 hours.
    assert says(text[-2], "43.80 USD a month", "DCU", "7 to 9")


def test_what_deployed_models_cost(group, bucket):
    """Those that nobody asks stand by name; a machine without a price is counted, not left out."""

    def endpoint(name, usd, state):
        models = (Model("1", "a@1", 100, "n1-standard-4", (1, 2), usd),) if usd != 0 else ()
        return Endpoint(name, name, models, 0, None, state)

    def told(surveyed):
        client = storage.Client(project="local-gcp")
        now = datetime.now(UTC)
        here = group.model_copy(update={"bucket": bucket})
        return digest.around(client, here, now, now, surveyed)[3:-2]

    known = (
        endpoint("digits", 5.25, State.IN_USE),
        endpoint("forgotten", 12.5, State.IDLE),
        endpoint("odd", None, State.IN_USE),
        endpoint("empty", 0, State.EMPTY),
    )
    cost, idle = told(Survey(known, None))
    assert says(cost, "17.75 USD a day", "3 endpoints", "1 without a price")
    assert says(idle, "forgotten", "12.50 USD a day", "trellis endpoints")
    refused = RefusedError(403, "monitoring.timeSeries.list denied")
    assert "Cloud Monitoring" in told(Survey(known[:1], refused))[-1]
    assert says(*told("403 Permission denied"), "not known", "403 Permission denied")


def test_the_dag_logs_it_and_tells_everybody(digits, add, bucket, group, capsys):
    add(a_run(digits, "new", created=datetime.now(UTC).isoformat()))
    dag = digest_dag.build(group.model_copy(update={"bucket": bucket}), Digest())
    run = run_dag(dag)
    (task,) = run.get_task_instances()
    assert task.state == "success"
    told = task.xcom_pull(task_ids="tell")
    assert says(told, ": 1 run, ", " 1 without a result")

"""Messages about failures and late runs, by Airflow's own notifiers: here its mails."""

import asyncio
from datetime import timedelta

import pytest

from tests.airflow_side import run_dag
from tests.trellis.workflow.assembly.mail_server import mail_server
from tests.wording import says
from trellis.workflow.assembly import chain, training
from trellis.workflow.assembly.alerts import on_failure
from trellis.workflow.assembly.notifications import tell
from trellis.workflow.spec.notifier import Notifier

SMTP = "airflow.providers.smtp.notifications.smtp.SmtpNotifier"


def notifier(kind, **arguments):
    return Notifier.model_validate({"class": kind, "arguments": arguments})


@pytest.fixture
def mails(monkeypatch):
    """Collect what was sent by the connection `mail`."""
    with mail_server() as (port, mails):
        extra = "disable_ssl=true&disable_tls=true&from_email=airflow@example.org"
        monkeypatch.setenv("AIRFLOW_CONN_MAIL", f"smtp://127.0.0.1:{port}/?{extra}")
        yield mails


@pytest.fixture
def told(group):
    """The group, with a notifier that cannot work before one that can."""
    broken = notifier(SMTP, to="x", smtp_conn_id="none", html_content="{{ trellis_message }}")
    works = notifier(
        SMTP,
        to="lab@example.org",
        smtp_conn_id="mail",
        subject="{{ trellis_subject }}",
        html_content="<pre>{{ trellis_message | e }}</pre>",
    )
    return group.model_copy(update={"notify": {"broken": broken, "mail": works}})


def text_of(mail):
    return mail.get_body(("html",)).get_content()


@pytest.mark.slow
def test_a_run_with_failures_of_one_cause_sends_one_message(told, mails, airflow_database):
    from airflow.sdk import DAG, task
    from airflow.sdk.exceptions import AirflowFailException

    alert = on_failure(told, chain.advice(), ends_run=chain.ends_run())
    with DAG("told", schedule=None, default_args={"on_failure_callback": alert}) as dag:

        @task(task_id="train")
        def train(number):
            raise OSError(f"<paper> is out in {number}")

        @task(task_id="result", trigger_rule="all_done")
        def result():
            raise AirflowFailException("training/1 is missing")

        train.expand(number=[0, 1]) >> result()
    assert run_dag(dag).state == "failed"
    (mail,) = mails
    assert mail["to"] == "lab@example.org"
    # Airflow runs the two in any order, and the first failure is told.
    first = 1 if "[1]" in mail["subject"] else 0
    assert mail["subject"] == f"TRELLIS FAILURE: told failed in train [{first}]"
    assert f"Why: &lt;paper&gt; is out in {first}" in text_of(mail)
    assert "What to do: Clear this task to continue" in text_of(mail)


def test_a_late_run_is_told_from_the_triggerer(told, digits, mails):
    """Airflow runs it so: from the serialized DAG, by the path of the callback."""
    from airflow.serialization.serialized_objects import DagSerialization
    from airflow.triggers.callback import CallbackTrigger

    late = digits.model_copy(update={"deadline": timedelta(hours=6)})
    dag = DagSerialization.from_dict(DagSerialization.to_dict(training.build(late, told)))
    (alert,) = training.build(late, told).deadline
    assert dag.deadline
    assert (alert.reference.reference_name, alert.interval) == (
        "DagRunQueuedAtDeadline",
        timedelta(hours=6),
    )
    run = {
        "dag_id": "digits",
        "dag_run_id": "manual__1",
        "state": "running",
        "queued_at": "2026-01-01T00:00:00Z",
        "start_date": "2026-01-01T00:01:00Z",
    }
    call = {**alert.callback.kwargs, "context": {"dag_run": run, "deadline": {"id": "1"}}}
    trigger = CallbackTrigger(alert.callback.path, call)

    async def ended():
        return [event.payload["state"] async for event in trigger.run()][-1]

    assert asyncio.run(ended()) == "success"
    (mail,) = mails
    assert says(mail["subject"], "TRELLIS LATE: digits", "6 hours")
    assert says(text_of(mail), "manual__1", "2026-01-01T00:01:00Z")
    assert "/dags/digits/runs/manual__1" in text_of(mail)


def test_what_people_are_told_is_in_the_log_for_the_alert(told, mails, caplog):
    tell(told, {}, "TRELLIS WARNING: once\nWhat to do: look")
    (mail,) = mails
    assert mail["subject"] == "TRELLIS WARNING: once"
    # Without `notify`, the record is all that there is.
    tell(told.model_copy(update={"notify": {}}), {}, "TRELLIS WARNING: again")
    said = [
        one.getMessage().partition("\n")[0] for one in caplog.records if one.levelname == "WARNING"
    ]
    assert said == ["TRELLIS WARNING: once", "TRELLIS WARNING: again"]


def test_without_a_deadline_airflow_watches_nothing(told, digits):
    assert training.build(digits, told).deadline is None

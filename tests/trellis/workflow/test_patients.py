"""A table of made-up patients: no key and no value of theirs reaches a log, an alert or Airflow."""

import hashlib
import json
import re

import pytest

from tests.airflow_side import run_dag
from tests.trellis.workflow import platforms
from tests.trellis.workflow.assembly.mail_server import mail_server
from trellis.workflow.assembly import training
from trellis.workflow.validation.file import with_changes

# Each value that stands for a patient begins so, and nothing else does.
PLANTED = "zaphod"
MAIL = {
    "class": "airflow.providers.smtp.notifications.smtp.SmtpNotifier",
    "arguments": {
        "to": "lab@example.org",
        "smtp_conn_id": "mail",
        "subject": "{{ trellis_subject }}",
        "html_content": "{{ trellis_message }}",
    },
}
GOOD = {
    "sample_id": f"CONCAT('{PLANTED}-', CAST(n AS STRING))",
    "malignant": "MOD(n, 2) = 0",
    "radius": "SIN(n)",
    "stage": "IF(MOD(n, 3) = 0, 'early', 'late')",
}
CLASSES = "IF(MOD(n, 3) = 0, 'well', IF(MOD(n, 3) = 1, 'ill', 'zaphod-other'))"


@pytest.fixture
def mails(monkeypatch):
    """Collect what was sent."""
    with mail_server() as (port, mails):
        extra = "disable_ssl=true&disable_tls=true&from_email=airflow@example.org"
        monkeypatch.setenv("AIRFLOW_CONN_MAIL", f"smtp://127.0.0.1:{port}/?{extra}")
        yield mails


@pytest.fixture
def told(google, breast_cancer, group, mails, capfd, caplog, request):
    """Runs the experiment on columns until it fails: (task, everything that a person or Airflow was
    told, texts of the bucket's files of examples).
    """

    def told(changes=(), **columns):
        (google.buckets / "patients").mkdir(exist_ok=True)
        own = platforms.of_tests(group, bucket="patients", notify={"mail": MAIL})
        selected = ", ".join(f"{sql} AS {name}" for name, sql in (GOOD | columns).items())
        query = f"SELECT {selected} FROM UNNEST(GENERATE_ARRAY(1, 300)) AS n"
        name = f"patients-{hashlib.sha256(request.node.name.encode()).hexdigest()[:8]}"
        source = {
            ("source", "bigquery"): None,
            ("source", "partition"): None,
            ("source", "query"): query,
            ("schedule",): "manual",
            ("until",): None,
            ("baselines", "automl"): None,
            ("deploy",): None,
        }
        experiment = with_changes(breast_cancer, source | dict(changes))
        experiment = experiment.model_copy(update={"name": name})
        dag = training.build(experiment, own)
        run = run_dag(dag)
        assert run.state == "failed"
        tis = run.get_task_instances()
        xcoms = [repr(ti.xcom_pull(task_ids=ti.task_id)) for ti in tis]
        (index,) = (google.buckets / "patients/_index" / name / "runs").iterdir()
        # Without the file's own query, which has the values of this table.
        failure = json.loads(index.read_text())["failure"]
        sent = [f"{m['subject']}\n{m.get_body(('html',)).get_content()}" for m in mails]
        assert sent
        out, err = capfd.readouterr()
        everything = "\n".join([out, err, caplog.text, *xcoms, *sent, json.dumps(failure)])
        files = (google.buckets / "patients" / name / "runs").rglob("examples/*.txt")
        return (
            failure["task"],
            everything,
            "\n".join(file.read_text() for file in files),
        )

    return told


@pytest.mark.parametrize(
    ("columns", "count", "example"),
    [
        ({"sample_id": "'zaphod-1'"}, "or more keys are repeated", "'zaphod-1' (300 rows)"),
        (
            {"malignant": "IF(n < 3, NULL, MOD(n, 2) = 0)"},
            "NULL or empty in 2 rows",
            "as at the keys 'zaphod-1', 'zaphod-2'",
        ),
        ({"malignant": CLASSES}, "has 3 classes", "'zaphod-other'"),
        ({"malignant": "'zaphod-all'"}, "is constant, the same in every row", "'zaphod-all'"),
    ],
    ids=["keys", "no label", "class", "constant"],
)
def test_a_check_that_fails_on_patients_says_how_many(told, columns, count, example):
    task, everything, examples = told(**columns)
    assert task == "check"
    assert count in everything
    assert PLANTED not in everything, [line for line in everything.splitlines() if PLANTED in line]
    assert example in examples
    address = re.search(r"gs://patients/\S+/examples/check\.txt", everything)
    assert address, everything


def test_a_query_that_stumbles_over_a_value_does_not_quote_it(told):
    task, everything, _ = told(radius="CAST(CONCAT('zaphod', CAST(n AS STRING)) AS FLOAT64)")
    assert task == "snapshot"
    assert "BigQuery says (invalidQuery)" in everything
    assert PLANTED not in everything.replace("CONCAT('zaphod", "")

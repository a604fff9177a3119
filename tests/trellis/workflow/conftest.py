import os
import subprocess

import pytest

from tests.airflow_side import ROOT, airflow_database, google, run_logs
from tests.conformance import calls
from trellis.workflow.validation.file import load

__all__ = ["airflow_database", "google"]


@pytest.fixture(autouse=True)
def only_listed_calls():
    """A run makes no call that is not in tests/conformance/trellis_calls.json."""
    # Tests of operators leave their logs too.
    run_logs.clear()
    yield
    unlisted = calls.unlisted("".join(run_logs))
    log = f"{os.environ.get('LOCAL_GCP_HOME')}/server.log"
    assert not unlisted, (
        f"{calls.LIST.name} lacks calls of this run. Add them: .venv/airflow/bin/python -m "
        f"tests.conformance.calls {log} {' '.join(unlisted)}"
    )


@pytest.fixture(scope="session")
def digits():
    """The demo's experiment, as committed."""
    return load(ROOT / "dags/experiments/digits.yaml")


@pytest.fixture(scope="session")
def upload_digits(google):
    """Put the demo's pictures and their manifest into a new bucket; returns the folder `digits`."""

    def upload(bucket):
        (google.buckets / bucket).mkdir()
        program = [ROOT / ".venv/trainer/bin/python", "-m", "demo.digits_data"]
        command = [*program, f"gs://{bucket}/digits/"]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        return google.buckets / bucket / "digits"

    return upload


@pytest.fixture(scope="session")
def breast_cancer():
    """The demo's experiment on a table, as committed."""
    return load(ROOT / "dags/experiments/breast-cancer.yaml")

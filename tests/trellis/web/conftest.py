"""The pages within Airflow's own application, with its sign-in, and buckets in a real local_gcp."""

import os

import pytest

from tests.airflow_side import run_dag
from tests.trellis.results.conftest import add, client
from tests.trellis.workflow.conftest import breast_cancer, digits
from trellis.web import app as web

__all__ = ["add", "breast_cancer", "client", "digits"]

BUCKET = "web-tests"
OTHERS = "web-tests-of-others"

_SETTINGS = {
    "AIRFLOW__CORE__AUTH_MANAGER": "tests.trellis.web.auth.PerDagAuthManager",
    "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "ada:admin,grace:viewer,joan:viewer,eve:viewer",
    "AIRFLOW__API_AUTH__JWT_SECRET": "x" * 64,
}


@pytest.fixture(scope="session")
def application(google):
    """Build the application of an api-server."""
    from airflow.api_fastapi.app import create_app, purge_cached_app

    before = dict(os.environ)
    os.environ |= _SETTINGS
    purge_cached_app()
    yield create_app("core")
    purge_cached_app()
    os.environ.clear()
    os.environ |= before


@pytest.fixture(scope="session")
def planned(google):
    """Two experiments of which each has planned a run, a stranger's DAG with a task `plan`, and
    digits of another group, with its own bucket and a prefix.
    """
    from airflow.sdk import DAG, task

    (google.buckets / BUCKET).mkdir()
    (google.buckets / OTHERS).mkdir()
    values = {
        name: {
            "plan": f"gs://{BUCKET}/{name}/runs/r/plan.json",
            "connection": "google_cloud_default",
        }
        for name in ("digits", "breast-cancer")
    }
    # An address of another experiment gives no right to it.
    theirs = f"gs://{OTHERS}/digits/runs/r/plan.json"
    values |= {"lab-digits": {"plan": theirs, "connection": "google_cloud_default"}}
    values |= {"stranger": values["digits"], "other": "something else"}
    for name, value in values.items():
        with DAG(name, schedule=None) as dag:

            @task(task_id="plan")
            def plan(value=value):
                return value

            plan()
        assert run_dag(dag).state == "success"


@pytest.fixture
def bucket(planned, google, client):
    """Empty."""
    for name in (BUCKET, OTHERS):
        for blob in client.list_blobs(name):
            blob.delete()
    web._indexes.clear()
    return BUCKET


@pytest.fixture
def get(application, bucket):
    """A page as a person sees it: get("ada", "/trellis/")."""
    from airflow.api_fastapi.app import init_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from fastapi.testclient import TestClient

    # There is one in a process, which goes when a test ends that has another application.
    manager = init_auth_manager()

    def get(person, path, **arguments):
        browser = TestClient(application, base_url="http://testserver", follow_redirects=False)
        if person:
            role = "ADMIN" if person == "ada" else "VIEWER"
            user = SimpleAuthManagerUser(username=person, role=role)
            browser.cookies.set("_token", manager.generate_jwt(user))
        return browser.get(path, **arguments)

    return get

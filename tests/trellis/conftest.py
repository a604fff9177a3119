import pytest

from tests.airflow_side import ROOT, airflow_database, google
from trellis import waiting
from trellis.workflow.spec import platform

__all__ = ["airflow_database", "google"]


@pytest.fixture(autouse=True)
def deferred_at_once(monkeypatch):
    """Every wait is the triggerer's, and no trigger begins with a pause; see test_waiting.py."""
    monkeypatch.setattr(waiting, "IN_TASK_SECONDS", 0.0)
    monkeypatch.setattr(waiting, "FIRST_POLL_SECONDS", 0.0)


@pytest.fixture(scope="session")
def group():
    """The group's platform, as committed."""
    return platform.load(ROOT / "dags")

import pytest

from tests.airflow_side import airflow_database, google
from trellis import waiting

__all__ = ["airflow_database", "google"]


@pytest.fixture(autouse=True)
def deferred_at_once(monkeypatch):
    """Every wait is the triggerer's, and no trigger begins with a pause; see test_waiting.py."""
    monkeypatch.setattr(waiting, "IN_TASK_SECONDS", 0.0)
    monkeypatch.setattr(waiting, "FIRST_POLL_SECONDS", 0.0)

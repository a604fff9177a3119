import pytest

from tests.airflow_side import ROOT, airflow_database, google
from trellis.workflow.spec import platform
from trellis.workflow.validation.file import load

__all__ = ["airflow_database", "google"]


@pytest.fixture(scope="session")
def digits():
    """The demo's experiment, as committed."""
    return load(ROOT / "dags/experiments/digits.yaml")


@pytest.fixture(scope="session")
def breast_cancer():
    """The demo's experiment on a table, as committed."""
    return load(ROOT / "dags/experiments/breast-cancer.yaml")


@pytest.fixture(scope="session")
def group():
    """The group's platform, as committed."""
    return platform.load(ROOT / "dags")

"""Fixtures of rows that a real BigQuery freezes."""

import pytest

from tests.trellis.workflow.plans import plan_run
from trellis.workflow.validation.file import with_changes

TASK = "binary_classification"


@pytest.fixture(scope="module")
def client(google, group):
    """BigQuery, and the group's bucket."""
    from google.cloud import bigquery

    (google.buckets / group.bucket).mkdir(exist_ok=True)
    return bigquery.Client(project=group.project, location=group.location)


@pytest.fixture
def plan(client, breast_cancer, group):
    """Plans a run on the rows of a query, with some keys of the source, or baselines, changed."""

    def plan(run_id, task=TASK, baselines=None, **changes):
        source = {"bigquery": None, "partition": None} | changes
        changed = {("source", k): v for k, v in source.items()}
        if baselines is not None:
            changed |= {("baselines",): baselines, ("deploy",): None}
        if task != TASK:
            changed |= {("task",): task, ("baselines",): None, ("deploy",): None}
        if task == "regression":
            changed |= {("tune", "maximize"): None, ("tune", "minimize"): "rmse"}
        return plan_run(with_changes(breast_cancer, changed), group, run_id)

    return plan

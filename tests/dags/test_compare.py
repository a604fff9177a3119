"""The comparison is done anew when another model is served, and only then."""

import pytest
from airflow.sdk import DAG
from airflow.sdk import task as airflow_task

from research.stages.compare import CompareOperator
from tests.airflow_side import clear_and_go_on, run_dag


@pytest.fixture
def serving():
    """What the task `served` finds; a test changes it."""
    return {"model": None}


@pytest.fixture
def dag(google, serving):
    job = {
        "display_name": "compare",
        "job_spec": {
            "worker_pool_specs": [
                {
                    "machine_spec": {"machine_type": "n1-standard-4"},
                    "replica_count": 1,
                    "container_spec": {"image_uri": "example.com/test/sh:1", "args": ["true"]},
                }
            ]
        },
    }
    with DAG("compared-anew", default_args={"retries": 0}) as dag:

        @airflow_task(task_id="served")
        def served():
            return serving

        compare = CompareOperator(
            task_id="compare",
            project_id="local-gcp",
            region="us-central1",
            custom_job=job,
            poll_interval=0.1,
        )
        served() >> compare
    return dag


def test_another_served_model_is_another_comparison(google, dag, serving):
    def jobs():
        return [j for j in google.status()["jobs"] if j["labels"].get("airflow-dag") == dag.dag_id]

    run = run_dag(dag)
    assert (run.state, len(jobs())) == ("success", 1)
    serving["model"] = "projects/p/locations/us-central1/models/m@2"
    for made in (2, 2):
        assert clear_and_go_on(dag, run).state == "success"
        assert len(jobs()) == made

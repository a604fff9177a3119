"""The comparison is done anew when there is something else to compare, and only then."""

import pytest
from airflow.sdk import DAG
from airflow.sdk import task as airflow_task

from tests.airflow_side import clear_and_go_on, run_dag
from trellis.workflow.stages.compare import contenders
from trellis.workflow.stages.operators import CompareOperator


@pytest.fixture
def serving():
    """Return the answer of the task `served`; a test changes it."""
    return {"model": None}


@pytest.fixture
def trained():
    """Return the answers of the training and the baselines; a test changes them."""
    return {"train": {"name": "projects/1/locations/r/customJobs/1"}, "baselines": {}}


@pytest.fixture
def dag(google, serving, trained):
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

        @airflow_task(task_id="train")
        def train():
            return trained["train"]

        @airflow_task(task_id="baselines")
        def baselines():
            return trained["baselines"]

        compare = CompareOperator(
            task_id="compare",
            project_id="local-gcp",
            region="us-central1",
            custom_job=job,
            reads=[],
            writes="",
            contenders=contenders,
            poll_interval=0.1,
        )
        [served(), train(), baselines()] >> compare
    return dag


@pytest.mark.slow
def test_another_contender_is_another_comparison(google, dag, serving, trained):
    def jobs():
        return [j for j in google.status()["jobs"] if j["labels"].get("airflow-dag") == dag.dag_id]

    run = run_dag(dag)
    assert (run.state, len(jobs())) == ("success", 1)
    # Another model is served; it gets fewer requests, as the run's own is on its way.
    serving |= {"model": "projects/p/locations/us-central1/models/m@2", "traffic": 100}
    again(dag, run)
    assert len(jobs()) == 2
    serving["traffic"] = 90
    again(dag, run)
    assert len(jobs()) == 2
    # A training that failed, and was cleared; a baseline, too.
    trained["train"] = {"name": "projects/1/locations/r/customJobs/2"}
    again(dag, run)
    assert len(jobs()) == 3
    trained["baselines"] = {"bqml-logistic_reg": "succeeded"}
    again(dag, run)
    assert len(jobs()) == 4


def again(dag, run):
    assert clear_and_go_on(dag, run).state == "success"

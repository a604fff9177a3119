"""train: the chosen trials trained in full, each by a Vertex AI custom job on all its workers."""

from typing import Any

from research import jobs
from research.experiment import Experiment
from research.plan import Plan
from research.platform import Platform
from vertex.operators import CustomJobOperator


def task(experiment: Experiment, platform: Platform, chosen: Any) -> Any:
    """The Airflow task, one instance for each of the `chosen` jobs."""
    return CustomJobOperator.partial(
        task_id="train",
        project_id=platform.project,
        region=platform.region,
        gcp_conn_id=platform.connection,
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
        map_index_template="{{ task.custom_job['display_name'].partition(' ')[2] }}",
    ).expand(custom_job=chosen)


def job(plan: Plan, platform: Platform, chosen: dict[str, Any]) -> dict[str, Any]:
    """The CustomJob that trains one chosen trial. `chosen`: an entry of trials.json."""
    train = plan.experiment.train
    workers = train.machines.workers
    arguments = jobs.training_arguments(plan, train.epochs, "all", chosen["parameters"])
    pools = [jobs.pool(platform, "train", arguments, train.machines)]
    if workers > 1:
        pools.append(jobs.pool(platform, "train", arguments, train.machines, workers - 1))
    rank = chosen["rank"]
    return {
        "display_name": f"{plan.experiment.name} training/{rank} (trial {chosen['trial']})",
        "labels": jobs.labels(plan, platform),
        "job_spec": {
            "worker_pool_specs": pools,
            "base_output_directory": {"output_uri_prefix": plan.run.training(rank)},
            "scheduling": jobs.scheduling(train.timeout, train.machines, workers),
            **jobs.identity(platform),
        },
        **jobs.encryption(platform),
    }

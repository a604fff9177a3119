"""train: trains the chosen trials in full, each in a Vertex AI custom job on all its workers.

Without a search there is one training, with the experiment's fixed hyperparameters.
"""

from typing import Any

from trellis.vertex.operators import CustomJobOperator
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages
from trellis.workflow.stages.planned import planned
from trellis.workflow.stages.pools import slots

UNTUNED: dict[str, Any] = {"rank": 1, "trial": None, "parameters": {}}
"""In place of a chosen trial, if the experiment tunes nothing."""


class TrainOperator(CustomJobOperator):
    """Trains one trial in full.

    :param chosen: an entry of trials.json's `chosen`, or UNTUNED.
    """

    def __init__(self, *, chosen: dict[str, Any], **kwargs: Any):
        super().__init__(**kwargs)
        self.chosen = chosen


def task(experiment: Experiment, platform: Platform, chosen: Any) -> Any:
    """The Airflow task, one instance for each of the `chosen` trials; None: nothing is tuned."""
    return TrainOperator.partial(
        task_id="train",
        project_id=platform.project,
        region=platform.region,
        custom_job=planned(experiment, platform, job, lambda context: context["task"].chosen),
        gcp_conn_id=platform.connection,
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
        map_index_template="{{ task.custom_job['display_name'].partition(' ')[2] }}",
        **slots(platform.pools.vertex, experiment.train.machines.workers),
    ).expand(chosen=[UNTUNED] if chosen is None else chosen)


def job(plan: Plan, platform: Platform, chosen: dict[str, Any]) -> dict[str, Any]:
    """The CustomJob that trains one chosen trial. `chosen`: an entry of trials.json, or UNTUNED."""
    train = plan.experiment.train
    workers = train.machines.workers
    arguments = job_messages.training_arguments(plan, train.epochs, "all", chosen["parameters"])
    pools = [job_messages.pool(platform, "train", arguments, train.machines)]
    if workers > 1:
        pools.append(job_messages.pool(platform, "train", arguments, train.machines, workers - 1))
    rank, trial = chosen["rank"], chosen["trial"]
    origin = "" if trial is None else f" (trial {trial})"
    return {
        "display_name": f"{plan.experiment.name} training/{rank}{origin}",
        "labels": job_messages.labels(plan.experiment, platform),
        "job_spec": {
            "worker_pool_specs": pools,
            "base_output_directory": {"output_uri_prefix": plan.run.training(rank)},
            "scheduling": job_messages.scheduling(train.timeout, train.machines, workers),
            **job_messages.identity(platform),
        },
        **job_messages.encryption(platform),
    }

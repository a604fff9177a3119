"""train: trains the chosen trials in full, each in a Vertex AI custom job on all its workers.

Without a search there is one training, with the experiment's fixed hyperparameters.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from trellis.vertex.operators import CustomJobOperator
from trellis.workflow.contracts import layout
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.lookups import left, reused
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages
from trellis.workflow.stages.planned import planned
from trellis.workflow.stages.pools import slots

UNTUNED: dict[str, Any] = {"rank": 1, "trial": None, "parameters": {}}
"""In place of a chosen trial, if the experiment tunes nothing."""


def untuned(model: str | None, rank: int) -> dict[str, Any]:
    """Return the chosen entry of one model that is not tuned; None is the experiment's `model`."""
    return {**UNTUNED, "rank": rank, **({"model": model} if model else {})}


class TrainOperator(CustomJobOperator):
    """Trains one trial in full.

    :param chosen: an entry of trials.json's `chosen`, or UNTUNED; of one of the experiment's other
        models with its "model", of a repeat with its "seed".
    :param reused: {"source", "target"}: folder of an earlier training that is copied in place of a
        job (templated); None: there is none.
    """

    template_fields: Sequence[str] = (*CustomJobOperator.template_fields, "reused")

    def __init__(self, *, chosen: dict[str, Any], reused: Any, **kwargs: Any):
        super().__init__(**kwargs)
        self.chosen = chosen
        self.reused = reused

    def _reads(self) -> Iterable[str]:
        return job_messages.read_by(self._message().job_spec, self.reused)

    def _writes(self) -> Iterable[str]:
        for folder in super()._writes():
            yield folder
            yield layout.trained_model(folder)

    def execute(self, context: Any) -> Any:
        if self.reused is None:
            return super().execute(context)
        self.log.info("Reused, no job: %s", self.reused["source"])
        copied = reused.training(self.gcp_conn_id, **self.reused)
        return {**copied, "output": self.reused["target"]}


def task(experiment: Experiment, platform: Platform, chosen: Any) -> Any:
    """The Airflow task, one instance for each of the `chosen` trials; None: nothing is tuned."""
    return operator(experiment, platform, "train", every_untuned(experiment, chosen))


def every_untuned(experiment: Experiment, chosen: Any) -> Any:
    """`chosen`; of None, an entry of each model: nothing is tuned."""
    if chosen is not None:
        return chosen
    return [untuned(model, rank) for rank, model in enumerate(experiment.by_model, start=1)]


def operator(experiment: Experiment, platform: Platform, task_id: str, chosen: Any) -> Any:
    """A task with one instance for each entry of `chosen`."""
    return TrainOperator.partial(
        task_id=task_id,
        project_id=platform.project,
        region=platform.region,
        custom_job=planned(
            experiment, platform, job, lambda context: context["task"].chosen, needs=left.dataset
        ),
        reused=planned(experiment, platform, copied, lambda context: context["task"].chosen),
        gcp_conn_id=platform.connection,
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
        map_index_template="{{ task.custom_job['display_name'].partition(' ')[2] }}",
        **slots(platform.pools.vertex, experiment.train.machines.replicas),
    ).expand(chosen=chosen)


def job(plan: Plan, platform: Platform, chosen: dict[str, Any]) -> dict[str, Any]:
    """The CustomJob that trains one chosen trial. chosen: as TrainOperator's."""
    model = chosen.get("model")
    plan = plan.of(model)
    train = plan.experiment.train
    seed = {"seed": chosen["seed"]} if "seed" in chosen else {}
    values = {**chosen["parameters"], **seed}
    arguments = job_messages.training_arguments(plan, train.epochs, "all", values)
    if train.machines.reduction_servers is not None:
        arguments.append("--strategy=reduction_server")
    pools = [
        job_messages.pool(platform, "train", arguments, machine, count)
        for machine, count in train.machines.pools
    ]
    if train.machines.reduction_servers is not None:
        pools[-1]["container_spec"] = job_messages.reducer(platform)
    trial, folder = chosen["trial"], _folder(plan, chosen)
    origin = "" if trial is None else f" (trial {trial})"
    origin = f" {model}{origin}" if model else origin
    origin += ", reused" if plan.reused(folder) else ""
    name = folder.removeprefix(plan.run.uri).rstrip("/")
    return {
        "display_name": f"{plan.experiment.name} {name}{origin}",
        "labels": job_messages.labels(plan.experiment, platform),
        "job_spec": {
            "worker_pool_specs": pools,
            "base_output_directory": {"output_uri_prefix": folder},
            "scheduling": job_messages.scheduling(
                train.timeout, train.machines, lockstep=train.machines.lockstep
            ),
            **job_messages.persistent(train.machines),
            **job_messages.identity(platform),
            **job_messages.tensorboard(platform),
        },
        **job_messages.encryption(platform),
    }


def copied(plan: Plan, platform: Platform, chosen: dict[str, Any]) -> dict[str, str] | None:
    """Return the folders to copy in place of a job, in the form of TrainOperator; None without
    reuse.
    """
    folder = _folder(plan, chosen)
    source = plan.reused(folder)
    return {"source": source, "target": folder} if source else None


def _folder(plan: Plan, chosen: dict[str, Any]) -> str:
    rank = chosen["rank"]
    return plan.run.repeat(rank, chosen["seed"]) if "seed" in chosen else plan.run.training(rank)

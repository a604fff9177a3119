"""The quotas that the group's files need.

A quota bounds what runs at once. Stages of a run follow one another, so the largest counts; runs of
several experiments at once share a quota, and then wait for each other.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from trellis.doctor.target import Target
from trellis.vertex import quotas
from trellis.workflow.assembly import chain
from trellis.workflow.pricing import machines as table
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import costs
from trellis.workflow.stages.stage import Fleet


@dataclass(frozen=True)
class Demand:
    """One stage's use of one quota at a time. who: the setting that requests it."""

    metric: str
    amount: int
    who: str


def vertex(target: Target) -> list[Demand]:
    """The largest demand for each metric of aiplatform.googleapis.com, by metric."""
    largest: dict[str, Demand] = {}
    for demand in _demands(target):
        known = largest.get(demand.metric)
        if known is None or demand.amount > known.amount:
            largest[demand.metric] = demand
    return [largest[metric] for metric in sorted(largest)]


def dataflow(platform: Platform) -> list[Demand]:
    """The export's demand by metric of Compute Engine's API.

    N1, E2 and the launcher's machine (of one vCPU) count as CPUS, other series separately.
    """
    export, who = platform.dataflow, "platform.yaml, dataflow"
    cpus = int(export.max_workers * table.table().types[export.machine_type].vcpus)
    series = export.machine_type.split("-")[0]
    own = series not in ("n1", "e2")
    demands = [
        Demand("CPUS", 1 if own else cpus + 1, who),
        Demand("CPUS_ALL_REGIONS", cpus + 1, who),
    ]
    if own:
        demands.append(Demand(f"{series.upper()}_CPUS", cpus, who))
    if not platform.private_addresses:
        demands.append(Demand("IN_USE_ADDRESSES", export.max_workers + 1, who))
    return demands


def _demands(target: Target) -> Iterator[Demand]:
    for file, experiment in target.experiments.items():
        for stage in costs.of(chain.STAGES, experiment):
            if (fleet := stage.fleet(experiment, target.platform)) is not None:
                yield from _of(fleet, file.name)
        if experiment.predict is not None:
            batch = experiment.predict.machines
            yield from _of(Fleet("predict", [(batch, batch.replicas)], use="serving"), file.name)


def _of(fleet: Fleet, file: str) -> Iterator[Demand]:
    who = fleet.setting if fleet.setting.startswith("platform.yaml") else f"{file}, {fleet.setting}"
    # Machines that are queued for count as preemptible, too, which they are not.
    of = fleet.use, fleet.spot or fleet.queued
    amounts: Counter[str] = Counter()
    for machine, count in fleet.machines:
        vcpus = table.table().types[machine.type].vcpus
        amounts[quotas.cpus(*of, machine.type)] += int(count * vcpus)
        if machine.gpu:
            amounts[quotas.gpus(*of, machine.gpu)] += count * machine.gpus
    for metric, amount in amounts.items():
        yield Demand(metric, amount, who)

"""Validates the machines that a section names."""

from collections.abc import Iterator
from datetime import timedelta

from trellis.workflow.pricing import machines as pricing
from trellis.workflow.spec.machines import Machine, Machines
from trellis.workflow.spec.problems import Field as Where
from trellis.workflow.spec.problems import Problem, did_you_mean

_PAGE = (
    "https://docs.cloud.google.com/gemini-enterprise-agent-platform/machine-learning/{}/"
    "configure-compute"
)
# What Google's Dynamic Workload Scheduler takes for Vertex AI:
# https://cloud.google.com/vertex-ai/docs/training/schedule-jobs-dws
_QUEUED_GPUS = ("NVIDIA_L4", "NVIDIA_TESLA_A100", "NVIDIA_A100", "NVIDIA_H", "NVIDIA_B200")
_QUEUED_LONGEST = timedelta(days=7)
_PARTS = {"training": "training", "serving": "predictions"}


def machine_problems(machine: Machine, where: Where, use: pricing.Use) -> Iterator[Problem]:
    """Problems of the section `machines` at `where`: what Vertex AI would refuse for this use."""
    table = pricing.table()
    known = table.of(use)
    if machine.gpu is not None and machine.gpu not in table.gpus:
        model = machine.gpu.rsplit("_", 1)[-1]
        near = [name for name in table.gpus if name.endswith(f"_{model}")] or table.gpus
        message = f"unknown accelerator '{machine.gpu}'; {did_you_mean(machine.gpu, near)}"
        yield Problem((*where, "gpu"), message)
    elif machine.type in known and (wrong := _accelerators(machine, table)):
        yield Problem(where, wrong)
    if machine.type not in known:
        yield Problem((*where, "type"), _unknown(machine.type, use, table))


def queue_problems(
    machines: Machines, pools: list[Machine], timeout: timedelta, section: str
) -> Iterator[Problem]:
    """Problems of a job whose `machines` are queued for. pools: those of all its worker pools."""
    if machines.queue is None:
        return
    where = (section, "machines", "queue")
    if not (machines.gpu or "").startswith(_QUEUED_GPUS):
        named = f"not {machines.gpu}" if machines.gpu else "and the section names none"
        yield Problem(where, f"is for L4, A100, H100, H200 and B200 GPUs, {named}: leave it out")
    if len({(pool.type, pool.gpu, pool.gpus) for pool in pools}) > 1:
        yield Problem(where, "wants the same machines in all pools: leave it out, or the servers")
    if timeout > _QUEUED_LONGEST:
        message = "a job whose machines are queued for (`queue: flex`) may take 7 days at most"
        yield Problem((section, "timeout"), message)


def _unknown(name: str, use: pricing.Use, table: pricing.Machines) -> str:
    what = f"no machine type for {use}" if name in table.types else "no known machine type"
    known = table.of(use)
    series = [other for other in known if other.split("-")[0] == name.split("-")[0]]
    if series:
        return f"'{name}' is {what}; {did_you_mean(name, series)}"
    page = _PAGE.format(_PARTS[use])
    every = sorted({other.split("-")[0] for other in known})
    return f"'{name}' is {what}; known series: {', '.join(every)}. Vertex AI lists no other: {page}"


def _accelerators(machine: Machine, table: pricing.Machines) -> str | None:
    """Return why the machine type cannot have these accelerators."""
    type_ = table.types[machine.type]
    if type_.gpu:
        if (machine.gpu, machine.gpus) == (type_.gpu, type_.gpus):
            return None
        # Serving may share one machine between replicas, each with fewer accelerators; a replica
        # of ours has its machine to itself, as its cost is the whole machine's.
        return (
            f"{machine.type} comes with {type_.gpus} {type_.gpu}: write "
            f"`gpu: {type_.gpu}, gpus: {type_.gpus}`"
        )
    if machine.gpu is None:
        return None
    attachable = table.attachable.get(machine.gpu)
    if attachable is None:
        fitting = [name for name, entry in table.types.items() if entry.gpu == machine.gpu]
        return f"{machine.gpu} is part of {', '.join(fitting)}, and {machine.type} cannot have it"
    if not machine.type.startswith("n1-"):
        return f"{machine.gpu} goes with n1 machines, not {machine.type}"
    counts = attachable.counts(type_)
    if machine.gpus not in counts:
        expected = f"expected {', '.join(map(str, counts))}" if counts else "use a smaller machine"
        return f"{machine.type} cannot have {machine.gpus} {machine.gpu}; {expected}"
    return None

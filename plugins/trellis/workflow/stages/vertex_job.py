"""What every operator of Vertex AI is given: place, polling, limit of waiting; a job's slots."""

from typing import Any

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machines
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.pools import slots


def place(platform: Platform) -> dict[str, Any]:
    """Return the arguments of every operator of Vertex AI."""
    return {
        "project_id": platform.project,
        "region": platform.region,
        "gcp_conn_id": platform.connection,
        "poll_interval": platform.poll_seconds,
        "wait": platform.machines.wait.total_seconds(),
    }


def arguments(
    experiment: Experiment, platform: Platform, replicas: int, machines: Machines | None = None
) -> dict[str, Any]:
    """Return the arguments of the operator of a job on that many machines.

    machines: those that the experiment names for it, with a `wait` of their own; without, the
    group's `machines.wait` holds.
    """
    given = {
        **place(platform),
        "generation": experiment.generation,
        **slots(platform.pools.vertex, replicas),
    }
    if machines is not None and machines.wait is not None:
        given["wait"] = machines.wait.total_seconds()
    return given

"""What every operator of a Vertex AI job is given: place, polling, slots, and limit of waiting."""

from typing import Any

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machines
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.pools import slots


def arguments(
    experiment: Experiment, platform: Platform, replicas: int, machines: Machines | None = None
) -> dict[str, Any]:
    """Return the arguments of the operator of a job on that many machines.

    machines: those that the experiment names for it, with a `wait` of their own; without, the
    group's `machines.wait` holds.
    """
    own = machines.wait if machines is not None else None
    return {
        "project_id": platform.project,
        "region": platform.region,
        "gcp_conn_id": platform.connection,
        "generation": experiment.generation,
        "poll_interval": platform.poll_seconds,
        "wait": (own or platform.machines.wait).total_seconds(),
        **slots(platform.pools.vertex, replicas),
    }

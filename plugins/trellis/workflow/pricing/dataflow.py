"""Price of an hour of a Dataflow job by its machines: for a plan, and for what jobs have cost."""

from trellis.workflow.pricing import machines, services
from trellis.workflow.spec.machines import Machine

# Default of a batch worker with Dataflow's shuffle:
# https://docs.cloud.google.com/dataflow/docs/shuffle-for-batch
_DISK_GB = 25
# Dataflow launches by default on the half of it, at Compute Engine's price.
_LAUNCHER = Machine(type="n1-standard-2")


def per_hour(machine_type: str, workers: int, region: str) -> float:
    """US dollars an hour of a job in a region with all its workers and their disks, and the machine
    that launches it.

    What Dataflow shuffles, 0.011 USD a GB, are names, counts and statistics of files: no rows.
    Raises KeyError for a machine without a price, which no platform file may have.
    """
    rate, known = services.table(region), machines.table(region)
    worker = known.types[machine_type]
    usd = worker.vcpus * rate.dataflow_vcpu + worker.memory_gb * rate.dataflow_memory_gb
    usd += _DISK_GB * rate.dataflow_disk_gb
    return workers * usd + known.usd(_LAUNCHER, "serving")

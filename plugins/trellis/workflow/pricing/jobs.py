"""Price of an hour of a job of Vertex AI, by the machines that its own message names."""

from typing import Any

from google.cloud.aiplatform_v1.types import AcceleratorType, Scheduling

from trellis.workflow.pricing import machines, services
from trellis.workflow.pricing.cost import DISK_GB
from trellis.workflow.spec.machines import Machine


def per_hour(job: Any, region: str) -> float:
    """US dollars an hour of a job in a region; of a search, those of one trial.

    A custom job or a search has the machines of its pools with their disks, at prices of spot
    machines where it asks for these and their price is known. A batch prediction has its most
    replicas. Raises KeyError for a machine without a price, which no plan accepts.
    """
    known = machines.table(region)
    if hasattr(job, "dedicated_resources"):
        resources = job.dedicated_resources
        replica = known.usd(_machine(resources.machine_spec), "serving")
        return float(resources.max_replica_count * replica)
    spec = job.trial_job_spec if hasattr(job, "trial_job_spec") else job.job_spec
    spot = spec.scheduling.strategy == Scheduling.Strategy.SPOT
    disk_gb = services.table(region).training_disk_gb
    total = 0.0
    for pool in spec.worker_pool_specs:
        machine = _machine(pool.machine_spec)
        price = known.spot_usd(machine) if spot else None
        price = known.usd(machine, "training") if price is None else price
        disk = (pool.disk_spec.boot_disk_size_gb or DISK_GB) * disk_gb
        total += pool.replica_count * (price + disk)
    return total


def _machine(spec: Any) -> Machine:
    count = spec.accelerator_count
    gpu = AcceleratorType(spec.accelerator_type).name if count else None
    return Machine.model_construct(type=spec.machine_type, gpu=gpu, gpus=count or 1)

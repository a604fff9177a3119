"""What running trainings take from the quotas of Vertex AI's machines.

Names of the quotas: https://docs.cloud.google.com/gemini-enterprise-agent-platform/machine-learning/quotas
"""

from __future__ import annotations

import re
from collections import Counter

from google.cloud import aiplatform_v1 as api

_TRAINING = "aiplatform.googleapis.com/custom_model_training"
_PREEMPTIBLE = (api.Scheduling.Strategy.SPOT, api.Scheduling.Strategy.FLEX_START)
_NO_SERIES = ("n1", "e2")
"""Series whose vCPUs have a quota together, without a name of its own."""
_NAMES = {"h100_80gb": "h100", "h100_mega_80gb": "h100_mega", "h200_141gb": "h200"}
"""GPUs whose quotas have no memory in their names."""


def of(spec: api.CustomJobSpec) -> Counter[str]:
    """vCPUs and GPUs of a job's machines, by quota. Machines named after their GPUs, such as
    a2-highgpu-1g, count with these alone: their names do not tell their vCPUs.
    """
    kind = "_preemptible" if spec.scheduling.strategy in _PREEMPTIBLE else ""
    found: Counter[str] = Counter()
    for pool in spec.worker_pool_specs:
        machine, count = pool.machine_spec, pool.replica_count
        series, _, rest = machine.machine_type.partition("-")
        own = "" if series in _NO_SERIES else f"_{series}"
        if size := re.fullmatch(r".*-(\d+)", rest):
            found[f"{_TRAINING}{kind}{own}_cpus"] += count * int(size[1])
        if machine.accelerator_count:
            gpu = api.AcceleratorType(machine.accelerator_type).name.lower()
            name = gpu.removeprefix("nvidia_").removeprefix("tesla_")
            name = _NAMES.get(name, name)
            found[f"{_TRAINING}{kind}_nvidia_{name}_gpus"] += count * machine.accelerator_count
    return found

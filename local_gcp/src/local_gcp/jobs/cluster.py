"""TF_CONFIG and CLUSTER_SPEC, which describe the other replicas.

https://cloud.google.com/vertex-ai/docs/training/distributed-training: CLUSTER_SPEC is set on every
replica; TF_CONFIG in distributed jobs only, and evaluators are not part of its cluster.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from local_gcp.jobs.run import TYPES

Addresses = Mapping[tuple[int, int], str]
"""host:port by (pool, index)."""


def cluster_environment(
    addresses: Addresses, pool: int, index: int, trial: str | None
) -> dict[str, str]:
    """The two variables (the one, when there is a single replica) for replica (pool, index)."""
    task: dict[str, Any] = {"type": f"workerpool{pool}", "index": index}
    if trial is not None:
        task["trial"] = trial
    # Vertex AI adds this description of a Python package job; it is empty for containers.
    job = json.dumps({"python_module": "", "package_uris": [], "job_args": []})
    common = {"environment": "cloud", "job": job}
    pools: dict[int, list[str]] = {}
    for (number, _), address in sorted(addresses.items()):
        pools.setdefault(number, []).append(address)

    spec = {
        "cluster": {f"workerpool{number}": members for number, members in pools.items()},
        "task": task,
        **common,
    }
    environment = {"CLUSTER_SPEC": json.dumps(spec)}
    if len(addresses) > 1:
        cluster = {
            TYPES[number]: members
            for number, members in pools.items()
            if TYPES[number] != "evaluator"
        }
        config = {"cluster": cluster, "task": {**task, "type": TYPES[pool]}, **common}
        environment["TF_CONFIG"] = json.dumps(config)
    return environment

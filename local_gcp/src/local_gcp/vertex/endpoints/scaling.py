"""The number of replicas of a deployed model, by its load.

With L requests in flight, averaged over the last `AVERAGE` seconds, there are L / `PER_REPLICA`
replicas, rounded up, within the deployment's bounds. The number increases at once; it decreases by
one at a time, if fewer have been enough for `PATIENCE` seconds.
(Vertex AI uses the utilization of CPU and accelerators, which processes on one machine share, and
takes the maximum of the last five minutes.)
"""

from __future__ import annotations

import math

from local_gcp.vertex.endpoints.deployment import Deployment

PER_REPLICA = 4
AVERAGE = 5.0
PATIENCE = 60.0


def wanted(deployment: Deployment, in_flight: int, elapsed: float, now: float) -> int:
    """The current target. `elapsed`: seconds since the last call."""
    deployment.load += (in_flight - deployment.load) * min(1.0, elapsed / AVERAGE)
    needed = math.ceil(deployment.load / PER_REPLICA)
    needed = min(deployment.most, max(deployment.least, needed))
    there = len(deployment.staying)
    if needed >= there:
        deployment.idle_since = None
        return needed
    if deployment.idle_since is None:
        deployment.idle_since = now
    if now - deployment.idle_since <= PATIENCE:
        return there
    deployment.idle_since = None
    return there - 1

"""Vertex AI's quotas of machines: their names, a project's limits, and what is in use.

https://docs.cloud.google.com/gemini-enterprise-agent-platform/machine-learning/quotas
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from google.cloud.aiplatform_v1.types import AcceleratorType, Scheduling

from trellis.google_api import GoogleApi
from trellis.vertex.jobs import BATCH, JobKind, machines_of

UNLIMITED = -1
PERMISSION = "serviceusage.quotas.get"
USAGE_PERMISSION = "monitoring.timeSeries.list"

ACCELERATORS = {
    "NVIDIA_A100_80GB": "a100_80gb",
    "NVIDIA_B200": "b200",
    "NVIDIA_H100_80GB": "h100",
    "NVIDIA_H100_MEGA_80GB": "h100_mega",
    "NVIDIA_H200_141GB": "h200",
    "NVIDIA_L4": "l4",
    "NVIDIA_RTX_PRO_6000": "rtx_pro_6000",
    "NVIDIA_TESLA_A100": "a100",
    "NVIDIA_TESLA_P100": "p100",
    "NVIDIA_TESLA_P4": "p4",
    "NVIDIA_TESLA_T4": "t4",
    "NVIDIA_TESLA_V100": "v100",
}
"""Accelerators by their names in quotas."""

_URL = (
    "https://serviceusage.googleapis.com/v1beta1/projects/{project}/services/"
    "aiplatform.googleapis.com/consumerQuotaMetrics"
)
_USAGE = "serviceruntime.googleapis.com/quota/allocation/usage"
_USAGE_URL = "https://monitoring.googleapis.com/v3/projects/{project}/timeSeries"


def cpus(use: str, preemptible: bool, machine_type: str) -> str:
    """Name of the quota of a machine's vCPUs. use: training or serving."""
    series = machine_type.split("-")[0]
    own = "" if series in ("n1", "e2") else f"_{series}"
    return f"{_prefix(use, preemptible)}{own}_cpus"


def gpus(use: str, preemptible: bool, accelerator: str) -> str:
    """Name of the quota of an accelerator."""
    return f"{_prefix(use, preemptible)}_nvidia_{ACCELERATORS[accelerator]}_gpus"


def metrics_of(kind: JobKind, job: Any) -> list[str]:
    """Names of the quotas that a job's machines take from; none if Google chooses the machines."""
    use = "serving" if kind.field == BATCH.field else "training"
    strategy = getattr(job, kind.spec).scheduling.strategy if kind.spec else None
    # Machines that are queued for count as preemptible, too, which they are not.
    preemptible = strategy in (Scheduling.Strategy.SPOT, Scheduling.Strategy.FLEX_START)
    found: dict[str, None] = {}
    for machine, _ in machines_of(kind, job):
        accelerator = AcceleratorType(machine.accelerator_type).name
        if machine.accelerator_count and accelerator in ACCELERATORS:
            found[gpus(use, preemptible, accelerator)] = None
        found[cpus(use, preemptible, machine.machine_type)] = None
    return list(found)


def limits(api: GoogleApi, project: str, region: str) -> dict[str, int | None]:
    """A project's limits in a region by name of the quota; None: not known. Raises RefusedError."""
    url = _URL.format(project=project)
    return {
        entry["metric"].rpartition("/")[2]: _limit(entry, region)
        for entry in api.items(url, "metrics", pageSize=500)
    }


def in_use(api: GoogleApi, project: str, region: str, now: datetime) -> dict[str, int]:
    """What a project has in use in a region, by name of the quota, as Cloud Monitoring was told
    last; without quotas of which nothing was used for a day. Raises RefusedError.

    https://docs.cloud.google.com/monitoring/alerts/using-quota-metrics
    """
    asked = {
        "filter": f'metric.type = "{_USAGE}" AND resource.type = "consumer_quota" AND '
        'resource.labels.service = "aiplatform.googleapis.com" AND '
        f'resource.labels.location = "{region}"',
        "interval.startTime": (now - timedelta(days=1)).isoformat(),
        "interval.endTime": now.isoformat(),
    }
    return {
        # The newest point comes first.
        series["metric"]["labels"]["quota_metric"].rpartition("/")[2]: int(
            series["points"][0]["value"]["int64Value"]
        )
        for series in api.items(_USAGE_URL.format(project=project), "timeSeries", **asked)
    }


def texts(
    found: Mapping[str, int | None], wanted: list[str], used: Mapping[str, int]
) -> Iterator[str]:
    """Quotas in words, as in `custom_model_training_cpus: 42, of which 40 are in use`."""
    for metric in wanted:
        limit = found.get(metric)
        said = "unlimited" if limit == UNLIMITED else "no known limit" if limit is None else limit
        share = f", of which {used[metric]} are in use" if metric in used else ""
        yield f"{metric}: {said}{share}"


def _prefix(use: str, preemptible: bool) -> str:
    return f"custom_model_{use}{'_preemptible' if preemptible else ''}"


def _limit(metric: Mapping[str, Any], region: str) -> int | None:
    """The limit in a region; None if unknown. The bucket without a region is the default.

    https://docs.cloud.google.com/service-usage/docs/reference/rest/v1beta1/services.consumerQuotaMetrics
    """
    limits: dict[str | None, int] = {}
    for limit in metric.get("consumerQuotaLimits", ()):
        if "{region}" not in limit.get("unit", "{region}"):
            continue
        for bucket in limit.get("quotaBuckets", ()):
            # Google omits an unknown limit: it is not zero.
            if "effectiveLimit" in bucket:
                limits[bucket.get("dimensions", {}).get("region")] = int(bucket["effectiveLimit"])
    return limits.get(region, limits.get(None))

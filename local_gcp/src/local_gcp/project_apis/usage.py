"""Service Usage: the enabled APIs, and the limits of their quotas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from local_gcp.project import PROJECT_NUMBER, known_regions
from local_gcp.project_apis.facts import Facts
from local_gcp.rest import ApiError

APIS = (
    "aiplatform",
    "artifactregistry",
    "bigquery",
    "billingbudgets",
    "cloudbilling",
    "cloudbuild",
    "cloudkms",
    "cloudresourcemanager",
    "composer",
    "compute",
    "dataflow",
    "iam",
    "iamcredentials",
    "logging",
    "monitoring",
    "networkconnectivity",
    "servicenetworking",
    "serviceusage",
    "storage",
)
"""The enabled APIs, without .googleapis.com."""

PERMISSION = "serviceusage.quotas.get"

_TRAINING = "custom_model_training"
_SERVING = "custom_model_serving"
_GPUS = ("t4", "p4", "p100", "v100", "l4", "a100", "a100_80gb", "h100")

# Metrics of Vertex AI: https://docs.cloud.google.com/gemini-enterprise-agent-platform/
# machine-learning/quotas, and the names that its error messages give. Values as an established
# project has them; a new one has less.
QUOTAS: Mapping[str, int] = {
    **{
        f"aiplatform.googleapis.com/{use}{series}cpus": 2200
        for use in (_TRAINING, f"{_TRAINING}_preemptible", _SERVING)
        for series in ("_", "_n2_", "_c2_")
    },
    **{
        f"aiplatform.googleapis.com/{use}_nvidia_{gpu}_gpus": 8
        for use in (_TRAINING, f"{_TRAINING}_preemptible", _SERVING)
        for gpu in _GPUS
    },
    "compute.googleapis.com/CPUS": 72,
    "compute.googleapis.com/N2_CPUS": 72,
    "compute.googleapis.com/C2_CPUS": 72,
    "compute.googleapis.com/IN_USE_ADDRESSES": 69,
    "compute.googleapis.com/CPUS_ALL_REGIONS": 320,
}
"""Limits by metric; those of Compute Engine by the names in its API."""


def limits(facts: Facts, service: str) -> dict[str, int]:
    """The limits of a service's metrics, by the part of their names after the slash."""
    every = {**QUOTAS, **facts.quotas}
    return {
        name.partition("/")[2]: limit
        for name, limit in every.items()
        if name.startswith(f"{service}.googleapis.com/")
    }


def service(facts: Facts, name: str) -> dict[str, Any]:
    """The state of one API, by its host."""
    if name.removesuffix(".googleapis.com") not in APIS:
        raise ApiError(403, f"Not found or permission denied for service(s): {name}.", "forbidden")
    return {
        "name": f"projects/{PROJECT_NUMBER}/services/{name}",
        "config": {"name": name},
        "state": "DISABLED" if name in facts.disabled_apis else "ENABLED",
        "parent": f"projects/{PROJECT_NUMBER}",
    }


def quota_metrics(facts: Facts, host: str) -> dict[str, Any]:
    """consumerQuotaMetrics.list of Vertex AI: one limit by region for each metric."""
    if PERMISSION in facts.missing_permissions:
        message = f"Permission {PERMISSION} denied (or the resource may not exist)."
        raise ApiError(403, message, "forbidden")
    api = host.removesuffix(".googleapis.com")
    prefix = f"projects/{PROJECT_NUMBER}/services/{host}/consumerQuotaMetrics"
    return {
        "metrics": [
            {
                "name": f"{prefix}/{host}%2F{metric}",
                "metric": f"{host}/{metric}",
                "displayName": metric.replace("_", " ").capitalize(),
                "unit": "1",
                "consumerQuotaLimits": [
                    {
                        "name": f"{prefix}/{host}%2F{metric}/limits/%2Fproject%2Fregion",
                        "metric": f"{host}/{metric}",
                        "unit": "1/{project}/{region}",
                        "quotaBuckets": [
                            {"effectiveLimit": str(limit), "defaultLimit": str(limit)},
                            *(
                                {
                                    "effectiveLimit": str(limit),
                                    "defaultLimit": str(limit),
                                    "dimensions": {"region": region},
                                }
                                for region in sorted(known_regions())
                            ),
                        ],
                    }
                ],
            }
            for metric, limit in limits(facts, api).items()
        ]
    }


def compute_quotas(facts: Facts, everywhere: bool) -> list[dict[str, Any]]:
    """The field `quotas` of a project (everywhere) or of a region."""
    return [
        {"metric": metric, "limit": float(limit), "usage": 0.0}
        for metric, limit in limits(facts, "compute").items()
        if metric.endswith("_ALL_REGIONS") == everywhere
    ]

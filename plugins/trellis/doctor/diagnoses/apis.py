"""Checks that Google's APIs are enabled."""

from collections.abc import Iterator, Mapping

from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target

_URL = "https://serviceusage.googleapis.com/v1/projects/{project}/services:batchGet"

_NEEDED: Mapping[str, str] = {
    "aiplatform": "training, tuning and serving run on Vertex AI",
    "artifactregistry": "job images are pulled from Artifact Registry",
    "bigquery": "experiments read tables, and baselines are BigQuery ML models",
    "cloudresourcemanager": "clients look up the project's number",
    "compute": "machines of Dataflow and Vertex AI belong to Compute Engine",
    "dataflow": "the export runs on Dataflow",
    "iam": "jobs run as a service account",
    "logging": "a failed job's last lines come from Cloud Logging",
    "monitoring": "counts of requests come from Cloud Monitoring",
    "storage": "all files of a run are in a bucket",
}


def needed(target: Target) -> dict[str, str]:
    """The APIs that the group's platform and experiments use, with the reason for each."""
    apis = dict(_NEEDED)
    if target.platform.encryption_key:
        apis["cloudkms"] = "platform.yaml names an encryption_key"
    if target.platform.network:
        apis["servicenetworking"] = "Vertex AI's jobs connect to `network` by a peering"
    if any(e.deploy is not None and e.deploy.private for e in target.experiments.values()):
        apis["networkconnectivity"] = "a private endpoint gets its address in the network"
    return apis


def diagnose(target: Target) -> Iterator[Finding | Passed]:
    """APIs that are not enabled."""
    project, apis = target.platform.project, needed(target)
    names = [f"projects/{project}/services/{name}.googleapis.com" for name in sorted(apis)]
    answer = target.api.get(_URL.format(project=project), names=names)
    state = {entry["name"].rsplit("/", 1)[-1]: entry.get("state") for entry in answer["services"]}
    off = [name for name in sorted(apis) if state.get(f"{name}.googleapis.com") != "ENABLED"]
    for name in off:
        yield Finding(
            f"{name}.googleapis.com is not enabled in {project}.",
            f"{apis[name][0].upper()}{apis[name][1:]}.",
            f"gcloud services enable {name}.googleapis.com --project={project}",
        )
    if not off:
        yield Passed(f"{len(apis)} enabled")

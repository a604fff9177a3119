"""Which of Google's APIs are enabled."""

from collections.abc import Iterator, Mapping

from trellis.doctor.findings import Finding, Seen
from trellis.doctor.patient import Patient

_URL = "https://serviceusage.googleapis.com/v1/projects/{project}/services:batchGet"

_NEEDED: Mapping[str, str] = {
    "aiplatform": "training, tuning and serving run on Vertex AI",
    "artifactregistry": "job images are pulled from Artifact Registry",
    "bigquery": "experiments read tables, and baselines are BigQuery ML models",
    "cloudresourcemanager": "clients ask for the project's number",
    "compute": "Dataflow's and Vertex AI's machines are of Compute Engine",
    "dataflow": "the export runs on Dataflow",
    "iam": "jobs run as a service account",
    "logging": "a failed job's last lines come from Cloud Logging",
    "storage": "everything of a run lies in a bucket",
}


def needed(patient: Patient) -> dict[str, str]:
    """The APIs that the group's platform and experiments use, with the reason for each."""
    apis = dict(_NEEDED)
    if patient.platform.encryption_key:
        apis["cloudkms"] = "platform.yaml names an encryption_key"
    if patient.platform.network:
        apis["servicenetworking"] = "Vertex AI's jobs reach `network` by a peering"
    if any(e.deploy is not None and e.deploy.private for e in patient.experiments.values()):
        apis["networkconnectivity"] = "a private endpoint gets its address in the network"
    return apis


def look(patient: Patient) -> Iterator[Finding | Seen]:
    """APIs that are not enabled."""
    project, apis = patient.platform.project, needed(patient)
    names = [f"projects/{project}/services/{name}.googleapis.com" for name in sorted(apis)]
    answer = patient.api.get(_URL.format(project=project), names=names)
    state = {entry["name"].rsplit("/", 1)[-1]: entry.get("state") for entry in answer["services"]}
    off = [name for name in sorted(apis) if state.get(f"{name}.googleapis.com") != "ENABLED"]
    for name in off:
        yield Finding(
            f"{name}.googleapis.com is not enabled in {project}.",
            f"{apis[name][0].upper()}{apis[name][1:]}.",
            f"gcloud services enable {name}.googleapis.com --project={project}",
        )
    if not off:
        yield Seen(f"{len(apis)} enabled")

"""What the caller may do. It is Airflow's account that has to: see `AS_AIRFLOW`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trellis.doctor.findings import Finding, Seen
from trellis.doctor.patient import Patient

AS_AIRFLOW = (
    "Permissions are those of the caller. To test Airflow's, run it in Composer, or: gcloud auth "
    "application-default login --impersonate-service-account=ACCOUNT"
)

_PROJECT = "https://cloudresourcemanager.googleapis.com/v3/projects/{project}:testIamPermissions"
_BUCKET = "https://storage.googleapis.com/storage/v1/b/{bucket}/iam/testPermissions"
_ACCOUNT = "https://iam.googleapis.com/v1/projects/-/serviceAccounts/{email}"

_ON_PROJECT: Mapping[str, Mapping[str, str]] = {
    "roles/aiplatform.user": {
        "aiplatform.customJobs.create": "trains and compares",
        "aiplatform.customJobs.cancel": "ends jobs of runs that were stopped",
        "aiplatform.hyperparameterTuningJobs.create": "tunes",
        "aiplatform.models.upload": "registers models",
        "aiplatform.endpoints.create": "makes endpoints",
        "aiplatform.endpoints.deploy": "serves models",
        "aiplatform.batchPredictionJobs.create": "predicts in bulk",
    },
    "roles/dataflow.developer": {
        "dataflow.jobs.create": "starts exports",
        "dataflow.jobs.cancel": "ends exports of runs that were stopped",
    },
    "roles/bigquery.jobUser": {"bigquery.jobs.create": "runs queries"},
}

_ON_BUCKET: Mapping[str, str] = {
    "storage.objects.create": "writes plans and results",
    "storage.objects.delete": "replaces files that have changed",
    "storage.objects.get": "reads results",
    "storage.objects.list": "finds datasets that can be used again",
}


def project(patient: Patient) -> Iterator[Finding | Seen]:
    """Rights in the project."""
    name = patient.platform.project
    asked = [permission for held in _ON_PROJECT.values() for permission in held]
    answer = patient.api.post(_PROJECT.format(project=name), {"permissions": asked})
    lacked = missing(asked, answer)
    for role, uses in _ON_PROJECT.items():
        if lacking := {each: use for each, use in uses.items() if each in lacked}:
            yield Finding(
                f"{patient.caller} lacks {', '.join(lacking)} in {name}.",
                f"With it Airflow {', '.join(lacking.values())}.",
                patient.grant(role),
            )
    if not lacked:
        yield Seen(f"{len(asked)} held")


def bucket(patient: Patient) -> Iterator[Finding | Seen]:
    """Rights on the group's bucket."""
    name = patient.platform.bucket
    answer = patient.api.get(_BUCKET.format(bucket=name), permissions=list(_ON_BUCKET))
    if lacked := missing(_ON_BUCKET, answer):
        yield Finding(
            f"{patient.caller} lacks {', '.join(lacked)} on gs://{name}.",
            f"With it Airflow {', '.join(_ON_BUCKET[each] for each in lacked)}.",
            f"gcloud storage buckets add-iam-policy-binding gs://{name} "
            f"--member={patient.member} --role=roles/storage.objectUser",
        )
    else:
        yield Seen(f"{len(_ON_BUCKET)} held")


def job_account(patient: Patient) -> Iterator[Finding | Seen]:
    """The account that jobs run as, and whether Airflow may start jobs that run as it."""
    email, name = patient.platform.service_account, patient.platform.project
    if email is None:
        yield Finding(
            "platform.yaml names no service_account.",
            "Jobs then run as default accounts, and deployed models see no bucket of the project.",
            "Write `service_account: NAME@PROJECT.iam.gserviceaccount.com` there",
        )
        return
    url = _ACCOUNT.format(email=email)
    account = patient.api.find(url)
    if account is None:
        yield Finding(
            f"There is no service account {email}.",
            "All jobs and deployed models run as it (platform.yaml: service_account).",
            f"gcloud iam service-accounts create {email.partition('@')[0]} --project={name}",
        )
        return
    if account.get("disabled"):
        yield Finding(
            f"The service account {email} is disabled.",
            "All jobs and deployed models run as it (platform.yaml: service_account).",
            f"gcloud iam service-accounts enable {email} --project={name}",
        )
    permission = "iam.serviceAccounts.actAs"
    answer = patient.api.post(f"{url}:testIamPermissions", {"permissions": [permission]})
    if missing([permission], answer):
        yield Finding(
            f"{patient.caller} lacks {permission} on {email}.",
            "Without it Airflow may start no job that runs as that account.",
            f"gcloud iam service-accounts add-iam-policy-binding {email} --project={name} "
            f"--member={patient.member} --role=roles/iam.serviceAccountUser",
        )
    else:
        yield Seen(email)


def missing(asked: Iterable[str], answer: Mapping[str, Any]) -> list[str]:
    """Permissions that an answer of testIamPermissions does not have."""
    return [permission for permission in asked if permission not in answer.get("permissions", ())]

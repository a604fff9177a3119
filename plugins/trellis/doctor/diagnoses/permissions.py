"""Checks permissions, those of the caller. Airflow's account needs them: see `AS_AIRFLOW`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target

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
        "aiplatform.customJobs.cancel": "cancels jobs of stopped runs",
        "aiplatform.hyperparameterTuningJobs.create": "tunes",
        "aiplatform.models.upload": "registers models",
        "aiplatform.endpoints.create": "makes endpoints",
        "aiplatform.endpoints.deploy": "serves models",
        "aiplatform.batchPredictionJobs.create": "predicts in bulk",
    },
    "roles/dataflow.developer": {
        "dataflow.jobs.create": "starts exports",
        "dataflow.jobs.cancel": "cancels exports of stopped runs",
    },
    "roles/bigquery.user": {
        "bigquery.jobs.create": "runs queries",
        "bigquery.jobs.list": "finds the queries that it has run",
    },
    "roles/monitoring.viewer": {
        "monitoring.timeSeries.list": "sees which endpoints are idle, and what is in use of quotas"
    },
}

_ON_BUCKET: Mapping[str, str] = {
    "storage.objects.create": "writes plans and results",
    "storage.objects.delete": "replaces changed files",
    "storage.objects.get": "reads results",
    "storage.objects.list": "finds datasets that can be reused",
}


def project(target: Target) -> Iterator[Finding | Passed]:
    """Permissions in the project."""
    name = target.platform.project
    needed = [permission for held in _ON_PROJECT.values() for permission in held]
    answer = target.api.post(_PROJECT.format(project=name), {"permissions": needed})
    lacked = missing(needed, answer)
    for role, uses in _ON_PROJECT.items():
        if lacking := {each: use for each, use in uses.items() if each in lacked}:
            yield Finding(
                f"{target.caller} lacks {', '.join(lacking)} in {name}.",
                f"With it Airflow {', '.join(lacking.values())}.",
                target.grant(role),
            )
    if not lacked:
        yield Passed(f"{len(needed)} held")


def bucket(target: Target) -> Iterator[Finding | Passed]:
    """Permissions on the group's bucket."""
    name = target.platform.bucket
    answer = target.api.get(_BUCKET.format(bucket=name), permissions=list(_ON_BUCKET))
    if lacked := missing(_ON_BUCKET, answer):
        yield Finding(
            f"{target.caller} lacks {', '.join(lacked)} on gs://{name}.",
            f"With it Airflow {', '.join(_ON_BUCKET[each] for each in lacked)}.",
            target.grant_on_bucket(name, "roles/storage.objectUser"),
        )
    else:
        yield Passed(f"{len(_ON_BUCKET)} held")


def accounts(target: Target) -> Iterator[Finding | Passed]:
    """Service accounts of jobs and deployed models, and whether Airflow may start them as these."""
    platform = target.platform
    if platform.service_account is None:
        yield Finding(
            "platform.yaml names no service_account.",
            "Jobs then run as default accounts, and deployed models cannot read any bucket.",
            "Write `service_account: NAME@PROJECT.iam.gserviceaccount.com` there",
        )
    named = {
        platform.service_account: "Jobs run as it (platform.yaml: service_account).",
        platform.serving.service_account: "Deployed models and batch predictions run as it "
        "(platform.yaml: serving.service_account).",
    }
    for email, runs in named.items():
        if email is not None:
            yield from _account(target, email, runs)


def _account(target: Target, email: str, runs: str) -> Iterator[Finding | Passed]:
    """runs: what runs as the account, for messages."""
    project = target.platform.project
    url = _ACCOUNT.format(email=email)
    account = target.api.find(url)
    if account is None:
        yield Finding(
            f"There is no service account {email}.",
            runs,
            f"gcloud iam service-accounts create {email.partition('@')[0]} --project={project}",
        )
        return
    if account.get("disabled"):
        yield Finding(
            f"The service account {email} is disabled.",
            runs,
            f"gcloud iam service-accounts enable {email} --project={project}",
        )
    permission = "iam.serviceAccounts.actAs"
    answer = target.api.post(f"{url}:testIamPermissions", {"permissions": [permission]})
    if missing([permission], answer):
        yield Finding(
            f"{target.caller} lacks {permission} on {email}.",
            f"{runs} Without it Airflow cannot start them.",
            f"gcloud iam service-accounts add-iam-policy-binding {email} --project={project} "
            f"--member={target.member} --role=roles/iam.serviceAccountUser",
        )
    else:
        yield Passed(email)


def missing(needed: Iterable[str], answer: Mapping[str, Any]) -> list[str]:
    """Permissions that a response of testIamPermissions lacks."""
    return [permission for permission in needed if permission not in answer.get("permissions", ())]

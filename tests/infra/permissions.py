"""Which permission each call of a run needs, and which role of infra/ has it: infra/permissions.md.

permissions.json has facts of https://github.com/iann0036/iam-dataset (MIT): the permissions of
Google's methods, where it knows them, and which of them the predefined roles have. To read them
again from a checkout, and to write the page:

    .venv/airflow/bin/python -m tests.infra.permissions CHECKOUT/.git
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FACTS = Path(__file__).with_suffix(".json")
PAGE = ROOT / "infra/permissions.md"
CALLS = ROOT / "tests/conformance/trellis_calls.json"

AIRFLOW = (
    "bigquery.dataEditor",
    "storage.objectUser",
    "aiplatform.user",
    "dataflow.developer",
    "bigquery.user",
    "monitoring.viewer",
    "artifactregistry.reader",
    "composer.worker",
)
"""Roles of Airflow's account, those of one resource first: accounts.tf, bigquery.tf, storage.tf."""

ROLES = {
    "composer": AIRFLOW,
    "job": ("storage.objectUser", "dataflow.worker", "dataflow.viewer"),
    "serve": ("storage.objectViewer",),
    "build": (
        "cloudkms.signer",
        "artifactregistry.writer",
        "containeranalysis.occurrences.viewer",
        "storage.objectUser",
    ),
    "agents.aiplatform": ("aiplatform.serviceAgent",),
}
"""Roles of accounts, as infra/ names these."""

STATEMENTS = {
    "CREATE MODEL": [
        "bigquery.models.create",
        "bigquery.models.updateData",
        "aiplatform.models.upload",
    ],
    "ML.PREDICT, ML.EVALUATE": ["bigquery.models.getData", "bigquery.tables.getData"],
    "ML.WEIGHTS, ML.FEATURE_IMPORTANCE": ["bigquery.models.getData"],
    "ALTER MODEL": ["bigquery.models.updateMetadata", "aiplatform.models.get"],
    "CREATE TABLE, CREATE VIEW": [
        "bigquery.tables.create",
        "bigquery.tables.updateData",
        "bigquery.tables.getData",
    ],
    "EXPORT DATA": ["bigquery.tables.export", "storage.objects.create", "storage.objects.delete"],
    "DELETE FROM": ["bigquery.tables.updateData"],
}
"""What statements of SQL need beside bigquery.jobs.create:
https://cloud.google.com/bigquery/docs/access-control. BigQuery registers models in Vertex AI."""

WORK = {
    "`trellis clean`, `trellis erase`": (
        "composer",
        [
            "bigquery.tables.list",
            "bigquery.tables.delete",
            "bigquery.models.list",
            "bigquery.models.delete",
            "storage.objects.list",
            "storage.objects.get",
            "storage.objects.delete",
            "aiplatform.models.list",
            "aiplatform.models.delete",
            "aiplatform.datasets.list",
            "aiplatform.datasets.delete",
        ],
    ),
    "limits and use of quotas, where a job got no machines": (
        "composer",
        ["serviceusage.quotas.get", "monitoring.timeSeries.list"],
    ),
    "a sample of requests (`deploy.requests`)": (
        "agents.aiplatform",
        ["bigquery.tables.get", "bigquery.tables.updateData"],
    ),
    "a job's files": (
        "job",
        ["storage.objects.create", "storage.objects.delete", "storage.objects.get"],
    ),
    "an export's workers and launcher": ("job", ["dataflow.workItems.lease", "dataflow.jobs.get"]),
    "a served model's files": ("serve", ["storage.objects.get", "storage.objects.list"]),
    "a release's signature": ("build", ["cloudkms.cryptoKeyVersions.useToSign"]),
    "a release's images and documents": (
        "build",
        ["artifactregistry.repositories.uploadArtifacts"],
    ),
    "a release's look at scans": ("build", ["containeranalysis.occurrences.list"]),
    "a release's DAG files": ("build", ["storage.objects.create", "storage.objects.delete"]),
}
"""What accounts do beside the calls of a run, and the permissions for it. The commands that remove
data run as the person who types them, who needs what Airflow's account has."""

_VERTEX = "google.cloud.aiplatform.v1."
_VERBS = "Add Cancel Copy Create Delete Deploy Get Import List Merge Predict Undeploy Update Upload"
_METHODS = {
    "DeleteModelVersion": "models.delete",
    "DeployModel": "endpoints.deployModel",
    "ImportData": "datasets.import",
    "ListModelEvaluations": "modelEvaluations.list",
    "ListModelVersions": "models.list",
    "MergeVersionAliases": "models.patch",
    "Predict": "endpoints.predict",
    "UndeployModel": "endpoints.undeployModel",
    "UpdateEndpoint": "endpoints.patch",
    "UpdateModel": "models.patch",
    "UpdateContext": "metadataStores.contexts.patch",
    "AddContextChildren": "metadataStores.contexts.addContextChildren",
    "UploadModel": "models.upload",
}
"""Methods of Vertex AI whose names in REST do not follow from those in gRPC."""

BY_NAME = {
    "CopyModel": ["aiplatform.models.get", "aiplatform.models.upload"],
    "DeleteModelVersion": ["aiplatform.models.delete"],
    "ListModelEvaluations": ["aiplatform.modelEvaluations.list"],
    "ListModelVersions": ["aiplatform.models.list"],
    "PUT storage/upload/storage/v1/b/*/o": ["storage.objects.create", "storage.objects.delete"],
    "bigquery.jobs.cancel": ["bigquery.jobs.create"],
    "bigquery.jobs.query": ["bigquery.jobs.create"],
    "dataflow.projects.locations.flexTemplates.launch": ["dataflow.jobs.create"],
    "dataflow.projects.locations.jobs.get": ["dataflow.jobs.get"],
    "dataflow.projects.locations.jobs.list": ["dataflow.jobs.list"],
    "dataflow.projects.locations.jobs.messages.list": ["dataflow.messages.list"],
    "dataflow.projects.locations.jobs.update": ["dataflow.jobs.cancel"],
    "google.dataflow.v1beta3.JobsV1Beta3/GetJob": ["dataflow.jobs.get"],
    "GET artifactregistry": ["artifactregistry.tags.get"],
}
"""Of calls that the table does not know: what the permissions' names say. The creator of a job of
BigQuery may cancel it."""

NO_PERMISSION = {
    "GET iamcredentials": "asked by Google's library, which does without an answer",
    "POST oauth2": "a token for the account itself",
    "google.longrunning.Operations/GetOperation": "of a method that had been permitted",
    "google.longrunning.Operations/ListOperations": "the run does without an answer",
}
IMPLIED = {"bigquery.jobs.get": "of the job's creator"}
"""Permissions without a role: https://cloud.google.com/bigquery/docs/managing-jobs"""
ELSEWHERE = {("bigquery.dataEditor", "bigquery.datasets.create")}
"""Permissions that a role has, and not on the resource on which infra/ gives it."""
UNUSED = {
    "bigquery.jobs.listAll": "jobs of others",
    "bigquery.tables.updateTag": "tags of columns",
    "storage.buckets.getIamPolicy": "access lists",
    "storage.objects.getIamPolicy": "access lists",
}
"""Permissions that the table names for what the calls do not ask for."""


def calls() -> list[str]:
    """The calls of a run, as tests/conformance has them."""
    return [call["method"] for call in json.loads(CALLS.read_text())]


def method(call: str) -> str:
    """The name in REST of a call of Vertex AI; of others, the name that they have."""
    if not call.startswith(_VERTEX):
        return call
    name = call.rpartition("/")[2]
    if name in _METHODS:
        return f"aiplatform.projects.locations.{_METHODS[name]}"
    match = re.fullmatch(rf"({_VERBS.replace(' ', '|')})(\w)(\w*)", name)
    assert match, call
    noun = match[2].lower() + match[3]
    noun = noun if noun.endswith("s") else f"{noun}s"
    inside = "metadataStores." if noun == "contexts" else ""
    return f"aiplatform.projects.locations.{inside}{noun}.{match[1].lower()}"


def facts(repository: str) -> dict[str, Any]:
    """Read the facts that the calls need from a checkout's .git."""

    def read(path: str) -> Any:
        command = ["git", "--git-dir", repository, "show", f"HEAD:gcp/{path}"]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    def log(what: str) -> str:
        command = ["git", "--git-dir", repository, "log", "-1", f"--format={what}"]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()

    known = {
        name: sorted(each["name"] for each in described.get("permissions", []))
        for api in read("map.json")["api"].values()
        for name, described in api.get("methods", {}).items()
    }
    needed = {call: known.get(method(call), []) for call in calls()}
    work = [permissions for _, permissions in WORK.values()]
    named = [*needed.values(), *BY_NAME.values(), *STATEMENTS.values(), *work]
    every = {p for found in named for p in found}
    roles = {
        role: sorted(every & set(read(f"roles/{role}.json")["includedPermissions"]))
        for role in sorted({role for held in ROLES.values() for role in held})
    }
    return {"commit": log("%H"), "date": log("%cs"), "calls": needed, "roles": roles}


def needed(known: dict[str, Any], call: str) -> list[str]:
    """The permissions that a call needs."""
    own = [p for p in known["calls"].get(call, []) if p not in UNUSED]
    return own or BY_NAME.get(call, BY_NAME.get(call.rpartition("/")[2], []))


def holder(known: dict[str, Any], account: str, permission: str) -> str:
    """The first role of an account that has a permission; "" if none has."""
    for role in ROLES[account]:
        if permission in known["roles"][role] and (role, permission) not in ELSEWHERE:
            return f"`roles/{role}`"
    return ""


def rows(known: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(call, permission, role of Airflow's account that has it, or "") of each call."""
    for call in calls():
        for permission in needed(known, call):
            yield call, permission, IMPLIED.get(permission) or holder(known, "composer", permission)


def work(known: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """(what is done, account, permission, its role that has it, or "") beside the calls."""
    statements = {f"SQL: {name}": ("composer", needs) for name, needs in STATEMENTS.items()}
    for what, (account, permissions) in {**statements, **WORK}.items():
        for permission in permissions:
            yield what, account, permission, holder(known, account, permission)


def page(known: dict[str, Any]) -> str:
    """The text of infra/permissions.md."""
    lines = [
        "# Permissions of a run's calls",
        "",
        "Each call that a run makes as Airflow's account, the permission that it needs, and the",
        "smallest of the account's roles that has it. Permissions and roles are those of",
        f"[iam-dataset](https://github.com/iann0036/iam-dataset) on {known['date']}, `*` where it",
        "does not know a method's and the permission's name says it. Written by",
        "`python -m tests.infra.permissions`, held by `tests/infra/test_permissions.py`.",
        "",
        "| call | permission | role |",
        "|---|---|---|",
    ]
    for call, permission, role in rows(known):
        guessed = "" if permission in known["calls"].get(call, []) else " *"
        lines.append(f"| `{call.removeprefix(_VERTEX)}` | `{permission}`{guessed} | {role} |")
    lines += ["", "Without a permission of its own:", ""]
    lines += [f"- `{call}`: {why}" for call, why in NO_PERMISSION.items()]
    lines += [
        "",
        "## Beside the calls",
        "",
        "What statements need beside `bigquery.jobs.create`, what other accounts do, and commands",
        "that remove data: these run as the person who types them, who needs what Airflow's",
        "account (`composer`) has. `agents.aiplatform` is Vertex AI's service agent.",
        "",
        "| what | account | permission | role |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {what} | `{account}` | `{permission}` | {role} |"
        for what, account, permission, role in work(known)
    ]
    lines += [
        "",
        "Jobs and deployed models run as other accounts, which `iam.serviceAccounts.actAs` on them",
        "allows (`roles/iam.serviceAccountUser`).",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    known = facts(sys.argv[1])
    FACTS.write_text(json.dumps(known, indent=1) + "\n")
    PAGE.write_text(page(known))


if __name__ == "__main__":
    main()

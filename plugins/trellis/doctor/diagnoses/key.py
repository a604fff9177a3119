"""Checks that the encryption key exists in the jobs' region, and that Google's services may use it.

A service encrypts as its own identity, its agent, not as the creator of the resource.
https://docs.cloud.google.com/kms/docs/compatible-services
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target

_URL = "https://cloudkms.googleapis.com/v1/{name}"
_PROJECT = "https://cloudresourcemanager.googleapis.com/v1/projects/{project}"
_ROLE = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
_KEY = re.compile(
    r"(?P<ring>projects/[^/]+/locations/(?P<location>[^/]+)/keyRings/[^/]+)/cryptoKeys/[^/]+"
)

AGENTS: Mapping[str, str] = {
    "service-{number}@gcp-sa-aiplatform.iam.gserviceaccount.com": "jobs, models and endpoints",
    "bq-{number}@bigquery-encryption.iam.gserviceaccount.com": "tables and models of BigQuery ML",
    "service-{number}@gs-project-accounts.iam.gserviceaccount.com": "objects in the bucket",
    "service-{number}@dataflow-service-producer-prod.iam.gserviceaccount.com": "an export's state",
    "service-{number}@compute-system.iam.gserviceaccount.com": "disks of an export's workers",
}
"""The agents of services that a run uses, with what each encrypts."""


def diagnose(target: Target) -> Iterator[Finding | Passed]:
    """Problems of the key that platform.yaml names, if any."""
    group = target.platform
    name = group.encryption_key
    if name is None:
        yield Passed("none: Google's own keys")
        return
    parts = _KEY.fullmatch(name)
    key = target.api.find(_URL.format(name=name)) if parts else None
    if parts is None or key is None:
        yield Finding(
            f"There is no key {name}.",
            "platform.yaml names it (encryption_key); no resource could be created without it.",
            "Name it as projects/P/locations/REGION/keyRings/R/cryptoKeys/K, or make it: "
            f"gcloud kms keys create K --keyring=R --location={group.region} --purpose=encryption",
        )
        return
    if parts["location"] != group.region:
        yield Finding(
            f"The key is in {parts['location']}, jobs run in {group.region}.",
            "Services can only use keys in their own region.",
            f"gcloud kms keys create K --keyring=R --location={group.region} --purpose=encryption",
        )
    if (state := key.get("primary", {}).get("state")) != "ENABLED":
        yield Finding(
            f"The key's primary version is {state or 'missing'}.",
            "Nothing can be encrypted with it.",
            f"gcloud kms keys versions enable VERSION --key={name}",
        )
    yield from _agents(target, name, parts["ring"])


def _agents(target: Target, name: str, ring: str) -> Iterator[Finding | Passed]:
    project = target.api.get(_PROJECT.format(project=target.platform.project))
    held = {
        member
        for holder in (name, ring)
        for member in _members(target.api.get(_URL.format(name=f"{holder}:getIamPolicy")))
    }
    agents = {
        f"serviceAccount:{agent.format(number=project['projectNumber'])}": what
        for agent, what in AGENTS.items()
    }
    for agent, what in agents.items():
        if agent not in held:
            yield Finding(
                f"{agent.partition(':')[2]} may not use the key.",
                f"It encrypts {what}. (This diagnosis does not see roles on the whole project.)",
                f"gcloud kms keys add-iam-policy-binding {name} --member={agent} --role={_ROLE}",
            )
    if agents.keys() <= held:
        yield Passed(f"{len(agents)} services may use it")


def _members(policy: Mapping[str, Any]) -> Iterator[str]:
    for binding in policy.get("bindings", ()):
        if binding["role"] == _ROLE and "condition" not in binding:
            yield from binding["members"]

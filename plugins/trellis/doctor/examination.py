"""All checks, one after the other, and their report."""

from collections.abc import Iterator, Sequence
from typing import TextIO

from trellis.doctor.checks import (
    airflow,
    apis,
    images,
    key,
    network,
    permissions,
    places,
    prices,
    quotas,
    tables,
)
from trellis.doctor.findings import Check, Finding, Hidden, Seen, Told
from trellis.doctor.patient import Patient
from trellis.doctor.report import text
from trellis.google_api import RefusedError

CHECKS: Sequence[Check] = (
    Check("Versions here", airflow.here, ""),
    Check("APIs", apis.look, "roles/serviceusage.serviceUsageViewer"),
    Check("Composer", airflow.environment, "roles/composer.user"),
    Check("Job images", images.look, "roles/artifactregistry.reader"),
    Check("Permissions: project", permissions.project, "roles/browser"),
    Check("Permissions: bucket", permissions.bucket, "roles/storage.legacyBucketReader"),
    Check("Job account", permissions.job_account, "roles/iam.serviceAccountViewer"),
    Check("Bucket", places.bucket, "roles/storage.legacyBucketReader"),
    Check("Dataset", tables.dataset, "roles/bigquery.metadataViewer"),
    Check("Source tables", tables.sources, "roles/bigquery.metadataViewer"),
    Check("Vertex AI", places.vertex, "roles/aiplatform.viewer"),
    Check("Network", network.look, "roles/compute.networkViewer"),
    Check("Encryption key", key.look, "roles/cloudkms.viewer"),
    Check("Quotas: Vertex AI", quotas.vertex, "roles/servicemanagement.quotaViewer"),
    Check("Quotas: Dataflow", quotas.dataflow, "roles/compute.viewer"),
    Check("Prices", prices.look, ""),
)


def examine(patient: Patient, out: TextIO, checks: Sequence[Check] = CHECKS) -> list[Finding]:
    """Run the checks; print a line for each as it ends, then what was found and what is hidden."""
    told: list[Told] = []
    for check in checks:
        print(f"{check.title:<26}", end="", file=out, flush=True)
        new = list(_told(check, patient))
        print(_line(new), file=out, flush=True)
        told += new
    findings = [each for each in told if isinstance(each, Finding)]
    for number, finding in enumerate(findings, start=1):
        print(text(f"{number}. ", finding.problem, finding.why, finding.mend), file=out)
    for each in told:
        if isinstance(each, Hidden):
            print(text("?  ", each.problem, _HIDDEN, each.mend), file=out)
    return findings


_HIDDEN = (
    "It could not be looked at. Run the doctor as somebody who may, or give yourself the right:"
)


def _line(told: Sequence[Told]) -> str:
    found = sum(isinstance(each, Finding) for each in told)
    if found:
        return f"{found} to mend"
    if any(isinstance(each, Hidden) for each in told):
        return "hidden"
    return f"good  {'; '.join(each.text for each in told if isinstance(each, Seen))}"


def _told(check: Check, patient: Patient) -> Iterator[Told]:
    """What a check tells, and what Google refused it."""
    try:
        yield from check.look(patient)
    except RefusedError as error:
        yield _refused(check, patient, error)


def _refused(check: Check, patient: Patient, error: RefusedError) -> Told:
    problem, why = f"{check.title}: {error.message}", "It could not be looked at."
    if error.disabled:
        project = patient.platform.project
        return Finding(problem, why, f"gcloud services enable {error.disabled} --project={project}")
    if error.status in (401, 403):
        return Hidden(problem, patient.grant(check.role))
    return Finding(problem, why, "Try again; look at https://status.cloud.google.com")

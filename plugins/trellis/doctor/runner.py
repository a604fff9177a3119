"""Runs all diagnoses in order, and prints their report."""

from collections.abc import Iterator, Sequence
from typing import TextIO

from trellis.doctor.diagnoses import (
    airflow,
    apis,
    dataset,
    endings,
    images,
    key,
    network,
    perimeter,
    permissions,
    places,
    policies,
    prices,
    quotas,
    sources,
)
from trellis.doctor.findings import Diagnosis, Finding, NoAccess, Notice, Passed, Result
from trellis.doctor.report import text
from trellis.doctor.target import Target
from trellis.google_api import RefusedError

DIAGNOSES: Sequence[Diagnosis] = (
    Diagnosis("Versions here", airflow.here, ""),
    Diagnosis("APIs", apis.diagnose, "roles/serviceusage.serviceUsageViewer"),
    Diagnosis("Composer", airflow.environment, "roles/composer.user"),
    Diagnosis("Job images", images.diagnose, "roles/artifactregistry.reader"),
    Diagnosis("Permissions: project", permissions.project, "roles/browser"),
    Diagnosis("Permissions: bucket", permissions.bucket, "roles/storage.legacyBucketReader"),
    Diagnosis("Service accounts", permissions.accounts, "roles/iam.serviceAccountViewer"),
    Diagnosis("Bucket", places.bucket, "roles/storage.legacyBucketReader"),
    Diagnosis("Dataset", dataset.diagnose, "roles/bigquery.metadataViewer"),
    Diagnosis("Sources", sources.diagnose, "roles/bigquery.metadataViewer"),
    Diagnosis("Vertex AI", places.vertex, "roles/aiplatform.viewer"),
    Diagnosis("Network", network.diagnose, "roles/compute.networkViewer"),
    Diagnosis("Encryption key", key.diagnose, "roles/cloudkms.viewer"),
    Diagnosis("Organization policies", policies.diagnose, "roles/orgpolicy.policyViewer"),
    Diagnosis("Perimeter", perimeter.diagnose, "roles/browser"),
    Diagnosis("Quotas: Vertex AI", quotas.vertex, "roles/servicemanagement.quotaViewer"),
    Diagnosis("Quotas: Dataflow", quotas.dataflow, "roles/compute.viewer"),
    Diagnosis("Prices", prices.diagnose, ""),
    Diagnosis("What ends soon", endings.diagnose, ""),
)


def diagnose(
    target: Target, out: TextIO, diagnoses: Sequence[Diagnosis] = DIAGNOSES
) -> list[Finding]:
    """Run the diagnoses; print a line for each at its end, then findings, notices and missing
    roles.
    """
    results: list[Result] = []
    for diagnosis in diagnoses:
        print(f"{diagnosis.title:<26}", end="", file=out, flush=True)
        new = list(_results(diagnosis, target))
        print(_line(new), file=out, flush=True)
        results += new
    findings = [each for each in results if isinstance(each, Finding)]
    for number, finding in enumerate(findings, start=1):
        print(text(f"{number}. ", finding.problem, finding.why, finding.fix), file=out)
    for each in results:
        if isinstance(each, Notice):
            print(text("-  ", each.problem, each.why, each.fix), file=out)
        if isinstance(each, NoAccess):
            print(text("?  ", each.problem, _NO_ACCESS, each.fix), file=out)
    return findings


_NO_ACCESS = (
    "It could not be checked. Run the doctor with another account, or grant yours the role:"
)


def _line(results: Sequence[Result]) -> str:
    found = sum(isinstance(each, Finding) for each in results)
    if found:
        return f"{found} to fix"
    if any(isinstance(each, NoAccess) for each in results):
        return "no access"
    notes = [each.text for each in results if isinstance(each, Passed)]
    if noted := sum(isinstance(each, Notice) for each in results):
        notes.insert(0, f"{noted} to know, see below")
    return f"good  {'; '.join(notes)}"


def _results(diagnosis: Diagnosis, target: Target) -> Iterator[Result]:
    """The results of a diagnosis, also if Google refuses its request."""
    try:
        yield from diagnosis.run(target)
    except RefusedError as error:
        yield _refused(diagnosis, target, error)


def _refused(diagnosis: Diagnosis, target: Target, error: RefusedError) -> Result:
    problem, why = f"{diagnosis.title}: {error.message}", "It could not be checked."
    if error.disabled:
        project = target.platform.project
        return Finding(problem, why, f"gcloud services enable {error.disabled} --project={project}")
    if error.status in (401, 403):
        return NoAccess(problem, target.grant(diagnosis.role))
    return Finding(problem, why, "Try again; see https://status.cloud.google.com")

"""Runs all checks in order, and prints their report."""

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
from trellis.doctor.findings import Check, Finding, NoAccess, Passed, Result
from trellis.doctor.report import text
from trellis.doctor.target import Target
from trellis.google_api import RefusedError

CHECKS: Sequence[Check] = (
    Check("Versions here", airflow.here, ""),
    Check("APIs", apis.check, "roles/serviceusage.serviceUsageViewer"),
    Check("Composer", airflow.environment, "roles/composer.user"),
    Check("Job images", images.check, "roles/artifactregistry.reader"),
    Check("Permissions: project", permissions.project, "roles/browser"),
    Check("Permissions: bucket", permissions.bucket, "roles/storage.legacyBucketReader"),
    Check("Job account", permissions.job_account, "roles/iam.serviceAccountViewer"),
    Check("Bucket", places.bucket, "roles/storage.legacyBucketReader"),
    Check("Dataset", tables.dataset, "roles/bigquery.metadataViewer"),
    Check("Source tables", tables.sources, "roles/bigquery.metadataViewer"),
    Check("Vertex AI", places.vertex, "roles/aiplatform.viewer"),
    Check("Network", network.check, "roles/compute.networkViewer"),
    Check("Encryption key", key.check, "roles/cloudkms.viewer"),
    Check("Quotas: Vertex AI", quotas.vertex, "roles/servicemanagement.quotaViewer"),
    Check("Quotas: Dataflow", quotas.dataflow, "roles/compute.viewer"),
    Check("Prices", prices.check, ""),
)


def run_checks(target: Target, out: TextIO, checks: Sequence[Check] = CHECKS) -> list[Finding]:
    """Run the checks; print a line for each as it ends, then findings and missing permissions."""
    results: list[Result] = []
    for check in checks:
        print(f"{check.title:<26}", end="", file=out, flush=True)
        new = list(_results(check, target))
        print(_line(new), file=out, flush=True)
        results += new
    findings = [each for each in results if isinstance(each, Finding)]
    for number, finding in enumerate(findings, start=1):
        print(text(f"{number}. ", finding.problem, finding.why, finding.fix), file=out)
    for each in results:
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
    return f"good  {'; '.join(each.text for each in results if isinstance(each, Passed))}"


def _results(check: Check, target: Target) -> Iterator[Result]:
    """The results of a check, also if Google refuses its request."""
    try:
        yield from check.run(target)
    except RefusedError as error:
        yield _refused(check, target, error)


def _refused(check: Check, target: Target, error: RefusedError) -> Result:
    problem, why = f"{check.title}: {error.message}", "It could not be checked."
    if error.disabled:
        project = target.platform.project
        return Finding(problem, why, f"gcloud services enable {error.disabled} --project={project}")
    if error.status in (401, 403):
        return NoAccess(problem, target.grant(check.role))
    return Finding(problem, why, "Try again; see https://status.cloud.google.com")

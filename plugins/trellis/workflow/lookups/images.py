"""The digests of job images, which say whether two runs had the same programs. Called by tasks."""

from collections.abc import Iterable

from airflow.providers.google.common.hooks.base_google import GoogleBaseHook

from trellis import artifact_registry
from trellis.google_api import GoogleApi, RefusedError
from trellis.workflow.spec.platform import Platform


def digests(platform: Platform, addresses: Iterable[str]) -> tuple[dict[str, str], str | None]:
    """sha256:... by address with tag, as Artifact Registry has them now, and why one is not known.

    Whoever moves a tag between the plan of a run and its jobs makes both disagree.
    """
    found: dict[str, str] = {}
    why = None
    for address in sorted(addresses):
        if not artifact_registry.is_known(address):
            why = f"{address} is not in an Artifact Registry, and its tag proves nothing"
            continue
        try:
            api = GoogleApi(GoogleBaseHook(gcp_conn_id=platform.connection).get_credentials())
            digest = artifact_registry.digest(api, address)
        except RefusedError as error:
            why = f"Artifact Registry has no digest of {address}: {error.message}"
            continue
        if digest is None:
            why = f"there is no image {address}"
        else:
            found[address] = digest
    return found, why

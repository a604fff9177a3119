"""The digests of images, which say whether two runs had the same programs. Called by tasks."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from airflow.providers.google.common.hooks.base_google import GoogleBaseHook

from trellis import artifact_registry
from trellis.google_api import GoogleApi, RefusedError
from trellis.workflow.spec.platform import Platform, PlatformError
from trellis_contracts import job_image


@dataclass(frozen=True)
class Found:
    """digests: sha256:... by address with tag. absent: addresses at which the registry has no
    image. why: why the digest of another one is not known; None if all are.
    """

    digests: Mapping[str, str]
    absent: tuple[str, ...]
    why: str | None


def find(platform: Platform, addresses: Iterable[str]) -> Found:
    """Look images up by their addresses with tags, as Artifact Registry has them now.

    Whoever moves a tag between the plan of a run and its jobs makes both disagree.
    """
    found: dict[str, str] = {}
    absent = []
    why = None
    api = None
    for address in sorted({*addresses}):
        if not artifact_registry.is_known(address):
            why = f"{address} is not in an Artifact Registry, and its tag proves nothing"
            continue
        try:
            api = api or GoogleApi(GoogleBaseHook(platform.connection).get_credentials())
            digest = artifact_registry.digest(api, address)
        except RefusedError as error:
            why = f"Artifact Registry has no digest of {address}: {error.message}"
            continue
        if digest is None:
            absent.append(address)
        else:
            found[address] = digest
    return Found(found, tuple(absent), why)


def require(
    experiment: str, platform: Platform, addresses: Iterable[str], foreign: Collection[str] = ()
) -> Found:
    """Look up the images of an experiment's jobs or server. foreign: those among them that the
    experiment names by their addresses.

    Raises PlatformError for those that are not in the group's registry, or in their own.
    """
    found = find(platform, addresses)
    if theirs := [one for one in found.absent if one in foreign]:
        raise PlatformError(
            f"{experiment}: there is no image {', '.join(theirs)}, which the experiment names as "
            "`image`: build and push it, or name a tag that is there"
        )
    if absent := [one for one in found.absent if one.startswith(f"{platform.registry}/")]:
        raise PlatformError(
            f"{experiment}: there is no image {', '.join(absent)}, of this version of Trellis "
            f"({job_image.TAG}): release it, as infra/README.md says; on one machine, `make image "
            "NAME=...` makes its environment, and demo/images.yaml names it"
        )
    return found

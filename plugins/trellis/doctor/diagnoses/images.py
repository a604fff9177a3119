"""Checks that the registry has the job images in the version of these DAGs."""

from collections.abc import Iterator

from trellis import artifact_registry
from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target
from trellis.workflow.spec import job_images
from trellis_contracts import job_image


def wanted(target: Target) -> list[str]:
    """Addresses of all images of the group that runs of these experiments use."""
    platform = target.platform
    found = [platform.image("trainer", job_image.TAG), job_images.of_export(platform)]
    for experiment in target.experiments.values():
        found += job_images.of_experiment(experiment, platform)
    ours = f"{platform.registry}/"
    return [address for address in dict.fromkeys(found) if address.startswith(ours)]


def diagnose(target: Target) -> Iterator[Finding | Passed]:
    """Missing images, and the digests of the others."""
    for address in wanted(target):
        if not artifact_registry.is_known(address):
            yield Passed(f"{target.platform.registry} is not an Artifact Registry: not checked")
            return
        digest = artifact_registry.digest(target.api, address)
        if digest is None:
            yield Finding(
                f"There is no image {address}.",
                "Jobs of this version of Trellis would fail when their machines start.",
                'Release it: eval "$(terraform -chdir=infra output -raw release)", or build and '
                "push it as the top of docker/Dockerfile says",
            )
        else:
            yield Passed(f"{address.rpartition('/')[2]} {digest[:19]}")

"""Checks that the registry has the job images in the version of these DAGs."""

from collections.abc import Iterator

from trellis import artifact_registry
from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target
from trellis_contracts import job_image


def wanted(target: Target) -> list[tuple[str, str]]:
    """Image and tag of all images that runs of these experiments use."""
    tag = job_image.TAG
    gpu = f"{tag}-gpu"
    images = [("trainer", tag), ("export", tag)]
    for experiment in target.experiments.values():
        trained = [section for section in (experiment.tune, experiment.train) if section]
        images += [("trainer", gpu)] if any(s.machines.gpu for s in trained) else []
        served = [section for section in (experiment.deploy, experiment.predict) if section]
        serve = experiment.serve_image
        images += [(serve, gpu if section.machines.gpu else tag) for section in served]
    return list(dict.fromkeys(images))


def diagnose(target: Target) -> Iterator[Finding | Passed]:
    """Missing images, and the digests of the others."""
    for image, tag in wanted(target):
        address = target.platform.image(image, tag)
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
            yield Passed(f"{image}:{tag} {digest[:19]}")

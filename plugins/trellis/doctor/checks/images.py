"""Checks that the registry has the job images in the version of these DAGs."""

import re
from collections.abc import Iterator
from urllib.parse import quote

from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target
from trellis.workflow.spec.trainer_schema import load as load_schema

_URL = "https://artifactregistry.googleapis.com/v1/{name}"
_REGISTRY = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?P<project>[^/]+)/(?P<repository>[^/]+)"
    r"(/(?P<folder>.+))?"
)


def wanted(target: Target) -> list[tuple[str, str]]:
    """Image and tag of all images that runs of these experiments use."""
    tag = load_schema().image_tag
    gpu = f"{tag}-gpu"
    images = [("trainer", tag), ("export", tag)]
    for experiment in target.experiments.values():
        trained = [section for section in (experiment.tune, experiment.train) if section]
        images += [("trainer", gpu)] if any(s.machines.gpu for s in trained) else []
        served = [section for section in (experiment.deploy, experiment.predict) if section]
        images += [("serve", gpu if section.machines.gpu else tag) for section in served]
    return list(dict.fromkeys(images))


def check(target: Target) -> Iterator[Finding | Passed]:
    """Missing images, and the digests of the others."""
    registry = _REGISTRY.fullmatch(target.platform.registry)
    if registry is None:
        yield Passed(f"{target.platform.registry} is not an Artifact Registry: not checked")
        return
    repository = "projects/{project}/locations/{location}/repositories/{repository}".format(
        **registry.groupdict()
    )
    folder = f"{registry['folder']}/" if registry["folder"] else ""
    for image, tag in wanted(target):
        package = quote(f"{folder}{image}", safe="")
        found = target.api.find(_URL.format(name=f"{repository}/packages/{package}/tags/{tag}"))
        if found is None:
            yield Finding(
                f"There is no image {target.platform.image(image, tag)}.",
                "Jobs of this version of Trellis would fail when their machines start.",
                'Release it: eval "$(terraform -chdir=infra output -raw release)", or build and '
                "push it as the top of docker/Dockerfile says",
            )
        else:
            digest = found["version"].rsplit("/", 1)[-1]
            yield Passed(f"{image}:{tag} {digest[:19]}")

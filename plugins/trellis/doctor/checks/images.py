"""Whether the job images are in the registry, under the version that these DAGs ask for."""

import re
from collections.abc import Iterator
from urllib.parse import quote

from trellis.doctor.findings import Finding, Seen
from trellis.doctor.patient import Patient
from trellis.workflow.spec.trainer_schema import load as load_schema

_URL = "https://artifactregistry.googleapis.com/v1/{name}"
_REGISTRY = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?P<project>[^/]+)/(?P<repository>[^/]+)"
    r"(/(?P<folder>.+))?"
)


def wanted(patient: Patient) -> list[tuple[str, str]]:
    """Image and tag of all that runs of these experiments start."""
    tag = load_schema().image_tag
    gpu = f"{tag}-gpu"
    images = [("trainer", tag), ("export", tag)]
    for experiment in patient.experiments.values():
        trained = (experiment.tune.machines.gpu, experiment.train.machines.gpu)
        images += [("trainer", gpu)] if any(trained) else []
        served = [section for section in (experiment.deploy, experiment.predict) if section]
        images += [("serve", gpu if section.machines.gpu else tag) for section in served]
    return list(dict.fromkeys(images))


def look(patient: Patient) -> Iterator[Finding | Seen]:
    """Images that are not there; the digests of those that are."""
    registry = _REGISTRY.fullmatch(patient.platform.registry)
    if registry is None:
        yield Seen(f"{patient.platform.registry} is no Artifact Registry: not looked at")
        return
    repository = "projects/{project}/locations/{location}/repositories/{repository}".format(
        **registry.groupdict()
    )
    folder = f"{registry['folder']}/" if registry["folder"] else ""
    for image, tag in wanted(patient):
        package = quote(f"{folder}{image}", safe="")
        found = patient.api.find(_URL.format(name=f"{repository}/packages/{package}/tags/{tag}"))
        if found is None:
            yield Finding(
                f"There is no image {patient.platform.image(image, tag)}.",
                "Jobs of this version of Trellis would fail when their machines start.",
                'Release it: eval "$(terraform -chdir=infra output -raw release)", or build and '
                "push it as the top of docker/Dockerfile says",
            )
        else:
            digest = found["version"].rsplit("/", 1)[-1]
            yield Seen(f"{image}:{tag} {digest[:19]}")

"""The images of an experiment's jobs and of its server: which one, and its address."""

from collections.abc import Iterator, Mapping

from trellis.workflow.spec import own_image
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform


def of_export(platform: Platform) -> str:
    """Address of the image that exports."""
    return platform.image("export", own_image.tag(None, gpu=False))


def of_jobs(
    experiment: Experiment, platform: Platform, *, gpu: bool, command: str = "train"
) -> str:
    """Address of the image of trials, trainings and the comparison. command: of the trainer's; an
    image that is not ours has no other than `train`.
    """
    ours = experiment.image is None or (experiment.foreign and command != "train")
    name = "trainer" if ours else str(experiment.image)
    return _address(experiment, platform, name, gpu)


def of_server(experiment: Experiment, platform: Platform, *, gpu: bool) -> str:
    """Address of the image that serves the experiment's models.

    That of its jobs has the libraries of a file with `fit`, and serves a network as well.
    """
    files = experiment.own_models.values()
    ours = "trainer" if any(file.declaration.estimator for file in files) else "serve"
    return _address(experiment, platform, experiment.server or ours, gpu)


def reducer(platform: Platform) -> str:
    """Address of Google's image of a reduction server, in the nearest of its registries.

    https://docs.cloud.google.com/gemini-enterprise-agent-platform/machine-learning/training/distributed-training
    """
    continent = platform.region.partition("-")[0]
    nearest = continent if continent in ("europe", "asia") else "us"
    return f"{nearest}-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"


def of_experiment(experiment: Experiment, platform: Platform) -> Iterator[str]:
    """List the addresses of all images that a run of the experiment, or its models, need."""
    yield of_export(platform)
    yield of_jobs(experiment, platform, gpu=False)
    if experiment.foreign:
        yield of_jobs(experiment, platform, gpu=False, command="compare")
    machines = [machine for machine, _ in experiment.train.machines.pools]
    machines += [experiment.tune.machines] if experiment.tune is not None else []
    if any(machine.gpu for machine in machines):
        yield of_jobs(experiment, platform, gpu=True)
    if experiment.train.machines.reduction_servers is not None:
        yield reducer(platform)
    for section in (experiment.deploy, experiment.predict):
        if section is not None:
            yield of_server(experiment, platform, gpu=section.machines.gpu is not None)


def by_digest(address: str, digests: Mapping[str, str]) -> str:
    """Name an image by its digest, which no moved tag changes; by its tag if that is not known.

    digests: sha256:... by address with tag.
    """
    digest = digests.get(address)
    if digest is None:
        return address
    folder, slash, name = address.partition("@")[0].rpartition("/")
    return f"{folder}{slash}{name.partition(':')[0]}@{digest}"


def _address(experiment: Experiment, platform: Platform, name: str, gpu: bool) -> str:
    if own_image.is_address(name):
        return name
    return platform.image(name, own_image.tag(experiment.image_files.get(name), gpu=gpu))

"""The Airflow that runs the DAGs: its versions, its build's time, and whether it has a triggerer.

A Composer environment (Managed Service for Apache Airflow) of the region, or the Airflow that is
installed here.
"""

import platform as python
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

from trellis.compatibility import NEEDS
from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target

_URL = "https://composer.googleapis.com/v1/projects/{project}/locations/{region}"
_AIRFLOW, _PROVIDER = NEEDS
_OURS = "trellis-airflow"


def here(_patient: Target) -> Iterator[Finding | Passed]:
    """Versions of this Python, which reads the files as Airflow does."""
    names = (_OURS, _AIRFLOW.distribution, _PROVIDER.distribution)
    yield Passed(
        ", ".join(f"{name} {version(name)}" for name in names)
        + f", Python {python.python_version()}"
    )


def environment(target: Target) -> Iterator[Finding | Passed]:
    """Problems of the environments in which Trellis is installed."""
    group = target.platform
    url = _URL.format(project=group.project, region=group.region)
    every = list(target.api.items(f"{url}/environments", "environments"))
    ours = [each for each in every if _OURS in _packages(each)]
    for found in ours:
        name = found["name"].rsplit("/", 1)[-1]
        problems = [*_problems(target, name, found), *_build_problems(target, name, found)]
        yield from problems
        if not problems:
            yield Passed(f"{name}: {_software(found).get('imageVersion')}")
    if every and not ours:
        names = ", ".join(each["name"].rsplit("/", 1)[-1] for each in every)
        yield Finding(
            f"No Composer environment in {group.region} has {_OURS} ({names}).",
            "The DAGs import it.",
            _update(
                target,
                every[0]["name"].rsplit("/", 1)[-1],
                "--update-pypi-packages-from-file dags/requirements-composer.txt",
            ),
        )
    if not every:
        yield from _self_hosted(target)


def _self_hosted(target: Target) -> Iterator[Finding | Passed]:
    if _triggerer_alive():
        yield Passed("the Airflow of this machine has a triggerer")
        return
    group = target.platform
    yield Finding(
        f"There is no Composer environment in {group.region}, and the Airflow that is installed "
        "here has no triggerer running.",
        "All waiting happens in the triggerer: without one no run goes on.",
        "terraform -chdir=infra apply; with an Airflow of your own: airflow triggerer",
    )


def _triggerer_alive() -> bool:
    """Return whether the database of the local Airflow has a live triggerer."""
    from airflow.jobs.job import most_recent_job
    from sqlalchemy.exc import SQLAlchemyError

    try:
        job = most_recent_job("TriggererJob")
    except SQLAlchemyError:  # no database, or an empty one
        return False
    return job is not None and job.is_alive()


def _problems(target: Target, name: str, found: Mapping[str, Any]) -> Iterator[Finding]:
    if found.get("state") != "RUNNING":
        yield Finding(
            f"The environment {name} is {found.get('state')}.",
            "No DAG runs in it.",
            f"gcloud composer environments describe {name} --location={target.platform.region}",
        )
    image = _software(found).get("imageVersion", "")
    airflow = re.search(r"airflow-(\d+\.\d+\.\d+)", image)
    if not airflow or Version(airflow[1]) < Version(_AIRFLOW.oldest):
        yield Finding(
            f"The environment {name} has {image}: Airflow {_AIRFLOW.oldest} or later is needed.",
            _AIRFLOW.why,
            _update(target, name, f"--image-version=composer-3-airflow-{_AIRFLOW.oldest}"),
        )
    yield from _package_problems(target, name, _packages(found))
    workloads = found["config"].get("workloadsConfig", {})
    if not workloads.get("triggerer", {}).get("count"):
        yield Finding(
            f"The environment {name} has no triggerer.",
            "All waiting happens in the triggerer: without one no run goes on.",
            _update(target, name, "--triggerer-count=1 --triggerer-cpu=1 --triggerer-memory=4"),
        )


def _build_problems(target: Target, name: str, found: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether Composer still makes environments with the environment's build, and upgrades them.

    https://docs.cloud.google.com/composer/docs/reference/rest/v1/projects.locations.imageVersions/list
    """
    group, image = target.platform, _software(found).get("imageVersion", "")
    url = f"{_URL.format(project=group.project, region=group.region)}/imageVersions"
    listed = target.api.items(url, "imageVersions", includePastReleases="true")
    builds = {build["imageVersionId"]: build for build in listed}
    if not builds:
        return
    build = builds.get(image, {"creationDisabled": True})
    if build.get("upgradeDisabled"):
        yield Finding(
            f"The environment {name} has {image}, from which Composer upgrades no environment.",
            "It gets no repairs, and will not be supported for long.",
            "Make a second environment (infra/README.md, image_version), load a snapshot into it",
        )
    elif build.get("creationDisabled"):
        able = [each for each, build in builds.items() if not build.get("creationDisabled")]
        yield Finding(
            f"The environment {name} has {image}, with which Composer makes no environment.",
            "One that is lost could not be made again, and its support will end.",
            _update(target, name, f"--image-version={max(able, key=_release, default=image)}"),
        )


def _release(image: str) -> tuple[Version, int]:
    """Airflow's version and the build of an image, for comparison; the lowest for other names."""
    found = re.fullmatch(r"composer-3-airflow-(\d+\.\d+\.\d+)-build\.(\d+)", image)
    return (Version(found[1]), int(found[2])) if found else (Version("0"), 0)


def _package_problems(target: Target, name: str, packages: Mapping[str, str]) -> Iterator[Finding]:
    needed = {
        _OURS: (f"=={version(_OURS)}", "The job images are of that version, and so is this shell."),
        _PROVIDER.distribution: (f"=={_PROVIDER.oldest}", _PROVIDER.why),
    }
    install = "--update-pypi-packages-from-file dags/requirements-composer.txt"
    for package, (wanted, why) in needed.items():
        installed = packages.get(package)
        if installed is None or not _meets(package, installed, wanted):
            has = f"{package}{installed}" if installed is not None else f"no {package}"
            yield Finding(
                f"The environment {name} lists {has}; {package}{wanted} is needed.",
                why,
                _update(target, name, install),
            )


def _meets(package: str, installed: str, wanted: str) -> bool:
    """Return whether a pin in Composer's list is sufficient; a provider may be newer."""
    pins = [
        each for each in Requirement(f"{package}{installed}").specifier if each.operator == "=="
    ]
    if not pins:
        return False
    least = Version(wanted.removeprefix("=="))
    pinned = Version(pins[0].version)
    return pinned == least if package == _OURS else pinned >= least


def _software(found: Mapping[str, Any]) -> Mapping[str, Any]:
    return found["config"].get("softwareConfig", {})


def _packages(found: Mapping[str, Any]) -> Mapping[str, str]:
    """Packages and the ends of their requirements, as in "==1.0"."""
    return _software(found).get("pypiPackages", {})


def _update(target: Target, name: str, what: str) -> str:
    group = target.platform
    return (
        f"gcloud composer environments update {name} --project={group.project} "
        f"--location={group.region} {what}"
    )

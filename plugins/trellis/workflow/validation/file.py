"""An experiment file, read and checked in full before anything is spent.

    experiment = load(Path("dags/experiments/digits.yaml"))

Everything that is wrong with a file is reported at once, with line, field and what was expected.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from trellis.workflow.pricing import cost
from trellis.workflow.pricing import prediction as prediction_cost
from trellis.workflow.spec import own_image, own_model
from trellis.workflow.spec import profile as profiles
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.own_model import OwnModel, is_file
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.problems import Field as Where
from trellis.workflow.spec.problems import FileError, Problem, about_file, did_you_mean
from trellis.workflow.spec.profile import Profile
from trellis.workflow.spec.schedule import after
from trellis.workflow.spec.section_validation import validate_section
from trellis.workflow.spec.yaml_file import Document
from trellis.workflow.spec.yaml_file import read as read_yaml
from trellis.workflow.validation import deployment, environments, group, notifiers, prediction
from trellis.workflow.validation import experiment as sections
from trellis_contracts.catalog import Catalog, Hyperparameter
from trellis_contracts.catalog import load as load_catalog

NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
"""An experiment's name: it becomes a DAG id, a folder, a label, a part of job names, and the ID of
an endpoint, which must not end with a dash."""

OTHER_DAGS = ("digest", "rollback", "watch")
"""DAGs of these names are made beside those of the experiments."""

PREDICTIONS = "-predict"
"""End of the id of the DAG with an experiment's predictions."""

RESERVE = "-reserve"
"""End of the id of the DAG that serves an experiment's champion by another image."""

FOLDER = "experiments"
"""The folder beside platform.yaml whose files are read."""

ENDING = ".yaml"

# Spellings of people, editors and Windows.
_NEARLY = re.compile(r".*\.(ya?ml|ya?ml\.txt)", re.IGNORECASE)

_RESERVED = {
    "name": "no key: the file's name is the experiment's name",
    "about": "no key: the comment at the start of the file describes the experiment",
    "own_models": "no key: `model` and `other_models` name the files",
    "image_files": "no key: `image` and `serve_image` name the files",
}


def load(
    path: Path, catalog: Catalog | None = None, *, profile: Profile | None = None
) -> Experiment:
    """Read and check one experiment file. Raises FileError with everything that is wrong.

    profile: the platform's; it decides whether the file's section `local` counts.
    """
    with about_file(path):
        return _load(path, catalog, profile)


def _load(path: Path, catalog: Catalog | None, profile: Profile | None) -> Experiment:
    document = _read(path, profile)
    problems = []
    if not NAME.fullmatch(path.stem):
        message = (
            f"the file is named after its experiment, and '{path.stem}' is no name for one: "
            "expected a lower-case letter, then up to 39 lower-case letters, digits and dashes, "
            "the last of them no dash"
        )
        problems.append(Problem((), message))
    elif path.stem in OTHER_DAGS or path.stem.endswith((PREDICTIONS, RESERVE)):
        message = (
            f"the file is named after its experiment, and '{path.stem}' is the name of another DAG"
        )
        problems.append(Problem((), message))
    catalog = catalog or load_catalog()
    own, unread = _own_models(path.parent, document.values)
    images, unknown = _image_files(path.parent, document.values)
    if unread or unknown:
        # Without its declaration, its hyperparameters cannot be checked.
        raise document.error([*problems, *unread, *unknown])
    experiment, found = validate(path.stem, document.comment, document.values, catalog, own, images)
    if experiment is None or problems:
        raise document.error([*problems, *found])
    return experiment


def _own_models(
    folder: Path, values: Mapping[str, Any]
) -> tuple[dict[str, OwnModel], list[Problem]]:
    """The models in files of the folder, by name, and what is wrong with the others."""
    others = values.get("other_models")
    named: list[tuple[Where, object]] = [(("model",), values.get("model"))]
    named += [(("other_models", name), name) for name in others] if isinstance(others, dict) else []
    found: dict[str, OwnModel] = {}
    problems: list[Problem] = []
    for where, name in named:
        if is_file(name):
            read = own_model.read(
                folder,
                name,
                more_packages="image" in values,
                program=own_image.is_address(values.get("image")),
            )
            if isinstance(read, OwnModel):
                found[name] = read
            else:
                problems += [Problem(where, problem.message) for problem in read]
    return found, problems


def _image_files(folder: Path, values: Mapping[str, Any]) -> tuple[dict[str, str], list[Problem]]:
    """SHA-256 of the requirements of each image of its own, by the image's name, and what is wrong
    with the others.
    """
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for key in ("image", "serve_image"):
        if values.get(key) is not None:
            sha256, wrong = own_image.read(folder, values[key])
            if sha256 is None:
                problems.append(Problem((key,), wrong))
            elif sha256:
                found[values[key]] = sha256
    return found, problems


def files(folder: Path) -> tuple[list[Path], list[Path]]:
    """The experiment files of a folder, and those that only look like one, in order.

    Hidden files are neither: editors and file systems leave them.
    """
    found = sorted(file for file in folder.glob("[!.]*") if _NEARLY.fullmatch(file.name))
    read = [file for file in found if file.suffix == ENDING]
    return read, [file for file in found if file.suffix != ENDING]


def profiles_of(path: Path) -> tuple[Profile | None, ...]:
    """The profiles in which the file differs: without one, and with its section `local`."""
    with about_file(path):
        return (None, profiles.LOCAL) if profiles.has_local(_parsed(path)) else (None,)


def check_on(
    platform: Platform,
    path: Path,
    experiment: Experiment,
    at_most: Callable[[Experiment, Platform], cost.Cost],
    profile: Profile | None = None,
) -> None:
    """Raises FileError if no run of the file's experiment could start: for its cost, for what
    platform.yaml lacks, or because it waits for an experiment that is not beside it.

    at_most: what a run may cost, without the size of a table or query, which only BigQuery knows.
    """
    with about_file(path):
        if problems := [*_on(platform, experiment, at_most), *_others(path, experiment, profile)]:
            raise _read(path, profile).error(problems)


def _on(
    platform: Platform,
    experiment: Experiment,
    at_most: Callable[[Experiment, Platform], cost.Cost],
) -> Iterator[Problem]:
    yield from notifiers.problems(platform)
    if lacking := list(group.problems(experiment, platform)):
        yield from lacking
        return
    yield from environments.problems(experiment, platform)
    try:
        cost.within_budget(experiment, at_most(experiment, platform))
        if experiment.predict is not None:
            limit = prediction_cost.at_most(experiment, platform)
            prediction_cost.within_budget(experiment, limit)
    except cost.BudgetError as error:
        yield Problem(("budget",), str(error))


def _others(path: Path, experiment: Experiment, profile: Profile | None) -> Iterator[Problem]:
    """List the problems of the experiment that this one waits for."""
    waits = after(experiment.schedule)
    if waits is None:
        return
    known = {file.stem: file for file in files(path.parent)[0]}
    name = waits.experiment
    if name == experiment.name:
        yield Problem(("schedule",), f"waits for its own {waits.what}, and would run for ever")
    elif name not in known:
        hint = did_you_mean(name, known.keys() - {experiment.name})
        yield Problem(("schedule",), f"there is no experiment '{name}' here; {hint}")
    elif waits.what == "champion" and not _deploys(known[name], profile):
        problem = f"'{name}' has no section deploy, so no model of it becomes the champion"
        yield Problem(("schedule",), problem)


def _deploys(path: Path, profile: Profile | None) -> bool:
    """Return whether the file has a section deploy. One that cannot be read has problems of its
    own, which are told where it is checked.
    """
    try:
        return _read(path, profile).values.get("deploy") is not None
    except FileError:
        return True


def _read(path: Path, profile: Profile | None) -> Document:
    return profiles.of(_parsed(path), profile)


def _parsed(path: Path) -> Document:
    if path.suffix != ENDING:
        message = f"experiment files end with {ENDING}, so this one is not read"
        raise FileError(str(path), [Problem((), message)])
    return read_yaml(path)


def validate(
    name: str,
    about: str,
    values: Mapping[str, Any],
    catalog: Catalog,
    own: Mapping[str, OwnModel] = MappingProxyType({}),
    images: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Experiment | None, list[Problem]]:
    """The experiment, or None and all its problems (without lines). own: its models' files.
    images: SHA-256 of the requirements of its images.
    """
    reserved = [Problem((k,), why) for k, why in _RESERVED.items() if k in values]
    beside = {"own_models": own, "image_files": images}
    experiment, problems = validate_section(
        Experiment, {**values, "name": name, "about": about, **beside}
    )
    problems += reserved
    catalog = _with_files(catalog, own)
    if experiment is not None:
        problems += sections.problems(experiment, catalog)
        problems += deployment.problems(experiment)
        problems += prediction.problems(experiment)
    return (None if problems else experiment), problems


def of_configuration(
    where: str,
    name: str,
    about: str,
    values: Mapping[str, Any],
    own: Mapping[str, OwnModel],
    images: Mapping[str, str],
) -> Experiment:
    """The experiment of values that are in no author's file: of a plan, or changed for a run.

    own, images: as `validate` has them. Raises FileError, which names `where`; its problems have no
    lines.
    """
    experiment, problems = validate(name, about, values, load_catalog(), own, images)
    if experiment is None:
        raise FileError(where, problems)
    return experiment


def with_changes(experiment: Experiment, changes: Mapping[tuple[str, ...], Any]) -> Experiment:
    """The experiment with other values for some fields (None: its default), validated again.

    Raises FileError; its problems have no lines, as the values are in no file.
    """
    values = experiment.configuration()
    for where, value in changes.items():
        section: Any = values
        for part in where[:-1]:
            section = section[part]
        if value is None:
            section.pop(where[-1], None)
        else:
            section[where[-1]] = value
    return of_configuration(
        f"The parameters of this run of {experiment.name}",
        experiment.name,
        experiment.about,
        values,
        experiment.own_models,
        experiment.image_files,
    )


def known_to(experiment: Experiment) -> Mapping[str, Hyperparameter]:
    """The hyperparameters of an experiment's model, the trainer's or its own, by name."""
    return catalog_of(experiment).of_model(experiment.model)


def catalog_of(experiment: Experiment) -> Catalog:
    """The trainer's models, and the experiment's own."""
    return _with_files(load_catalog(), experiment.own_models)


def _with_files(catalog: Catalog, own: Mapping[str, OwnModel]) -> Catalog:
    for name, file in own.items():
        catalog = catalog.with_file(name, file.declaration)
    return catalog

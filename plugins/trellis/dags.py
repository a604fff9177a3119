"""The functions that a group's DAG files call, which create the DAGs of their folder.

    from trellis import dags

    globals().update(dags.training(__file__))

The folder also has `experiments/` and `platform.yaml`. An experiment with problems gets no DAG and
affects no other; `check` reports it. A task's process builds only that task's DAG, so a task starts
as fast with many experiments as with one. For the same reason each function imports only what its
DAGs need.
"""

import itertools
import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from airflow.sdk import DAG, get_parsing_context

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.problems import FileError, about_file
from trellis.workflow.spec.schedule import MANUAL, by_time
from trellis.workflow.validation import platform
from trellis.workflow.validation.file import FOLDER, check_on, files, load

_log = logging.getLogger(__name__)


def training(dag_file: str) -> dict[str, DAG]:
    """A DAG for every experiment, by id: its name, after the group's prefix."""
    group = _platform(dag_file)
    return _each(dag_file, group, group.dag_id, _training)


def prediction(dag_file: str) -> dict[str, DAG]:
    """A DAG EXPERIMENT-predict for every experiment that has a `predict` section."""
    from trellis.workflow.assembly import prediction as assembly

    group = _platform(dag_file)
    return _each(dag_file, group, partial(assembly.dag_id, group), _prediction)


def rollback(dag_file: str) -> dict[str, DAG]:
    """The one DAG `rollback`, if any experiment deploys its model.

    An experiment whose file has problems cannot be rolled back until the file is fixed: its
    machines are unknown.
    """
    from trellis.workflow.assembly import rollback as assembly

    group = _platform(dag_file)
    dag_id = group.dag_id(assembly.NAME)
    deploying = {
        experiment.name: experiment
        for experiment in _experiments(dag_file, group, lambda _: dag_id)
        if experiment.deploy is not None
    }
    if not deploying:
        return {}
    return {dag_id: assembly.build(deploying, group)}


def undeploy_previous(dag_file: str) -> dict[str, DAG]:
    """The one DAG `undeploy_previous`, if any experiment deploys its model.

    It exists even if no experiment has `keep_previous` now: one that had it may have left a run
    that waits for its time, and without its DAG would wait forever.
    """
    from trellis.workflow.assembly import undeploy_previous as assembly

    group = _platform(dag_file)
    dag_id = group.dag_id(assembly.NAME)
    deploying = [e for e in _experiments(dag_file, group, lambda _: dag_id) if e.deploy is not None]
    if not deploying:
        return {}
    return {dag_id: assembly.build(group, [experiment.owner for experiment in deploying])}


def watch(dag_file: str) -> dict[str, DAG]:
    """The one DAG `watch`, if an experiment waits for new data or for another's champion."""
    group = _platform(dag_file)
    experiments = {
        e.name: e for e in _experiments(dag_file, group, lambda _: group.dag_id("watch"))
    }
    if all(by_time(e.schedule) or e.schedule == MANUAL for e in experiments.values()):
        return {}
    from trellis.workflow.assembly import watch as assembly

    if not assembly.needed(experiments):
        return {}
    return {group.dag_id(assembly.NAME): assembly.build(experiments, group)}


def digest(dag_file: str) -> dict[str, DAG]:
    """The one DAG `digest`, if platform.yaml asks for it."""
    group = _platform(dag_file)
    if group.digest is None:
        return {}
    from trellis.results import digest_dag

    return {group.dag_id(digest_dag.NAME): digest_dag.build(group, group.digest)}


def idle_endpoints(dag_file: str) -> dict[str, DAG]:
    """The one DAG `idle_endpoints`, if platform.yaml asks for it."""
    group = _platform(dag_file)
    if group.idle_endpoints is None:
        return {}
    from trellis.workflow.assembly import idle_endpoints as assembly

    return {group.dag_id(assembly.NAME): assembly.build(group, group.idle_endpoints)}


def check(dag_file: str) -> None:
    """Raise ImportError with every problem of the experiment files; make no DAG.

    A file that reads well, but whose runs would all be refused (above its budget, or platform.yaml
    lacks something), is reported too, and keeps its DAG.

    A DAG file of its own calls this: an error in a file that has DAGs would stop them all, as
    Airflow considers every DAG of a file with an import error stale. So the other files skip what
    they cannot read, and this one reports it under "Dag Import Errors" in the UI and in
    `airflow dags list-import-errors`. An experiment with problems has no DAG until its file is
    fixed; its runs and their logs are kept.
    """
    from trellis.workflow.assembly import chain

    group = _platform(dag_file)
    wrong = []
    for file in sorted(itertools.chain(*files(_folder(dag_file)))):
        try:
            experiment = load(file, profile=group.profile)
            check_on(group, file, experiment, chain.at_most, group.profile)
            # As the other files do: unforeseen errors are reported, too.
            with about_file(file):
                _training(experiment, group)
                _prediction(experiment, group)
        except FileError as error:
            wrong.append(str(error))
    if wrong:
        raise ImportError("\n\n".join(["Experiment files with problems.", *wrong]))


def _training(experiment: Experiment, group: Platform) -> dict[str, DAG]:
    from trellis.workflow.assembly import training as assembly

    return {group.dag_id(experiment.name): assembly.build(experiment, group)}


def _prediction(experiment: Experiment, group: Platform) -> dict[str, DAG]:
    from trellis.workflow.assembly import prediction as assembly

    if experiment.predict is None:
        return {}
    return {assembly.dag_id(group, experiment.name): assembly.build(experiment, group)}


def _each(
    dag_file: str,
    group: Platform,
    dag_id: Callable[[str], str],
    build: Callable[[Experiment, Platform], dict[str, DAG]],
) -> dict[str, DAG]:
    """The DAGs that `build` makes of each good experiment; without those that it fails for."""
    built: dict[str, DAG] = {}
    for experiment in _experiments(dag_file, group, dag_id):
        try:
            built |= build(experiment, group)
        except Exception:
            _log.exception("%s has no DAG: it cannot be built", experiment.name)
    return built


def _experiments(
    dag_file: str, group: Platform, dag_id: Callable[[str], str]
) -> Iterator[Experiment]:
    """The good experiments that this process needs. dag_id: of the DAG that one of a name is in."""
    wanted = get_parsing_context().dag_id
    read, _ = files(_folder(dag_file))
    for file in (file for file in read if wanted in (None, dag_id(file.stem))):
        try:
            yield load(file, profile=group.profile)
        except FileError:
            continue


def _folder(dag_file: str) -> Path:
    return Path(dag_file).parent / FOLDER


def _platform(dag_file: str) -> Platform:
    return platform.load(Path(dag_file).parent)

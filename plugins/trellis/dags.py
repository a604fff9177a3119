"""The functions that a group's DAG files call, which create the DAGs of their folder.

    from trellis import dags

    globals().update(dags.build(__file__))

The folder also has `experiments/` and `platform.yaml`. An experiment with problems gets no DAG and
affects no other; `check` reports it. A task's process builds only that task's DAG, so a task starts
as fast with many experiments as with one. For the same reason the modules that make a DAG are
imported only where that DAG is made.
"""

import itertools
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from airflow.sdk import DAG, get_parsing_context

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.problems import FileError, about_file
from trellis.workflow.spec.schedule import MANUAL, by_time
from trellis.workflow.validation import platform
from trellis.workflow.validation.file import FOLDER, PREDICTIONS, RESERVE, check_on, files, load

_log = logging.getLogger(__name__)

Experiments = Mapping[str, Experiment]
Maker = Callable[[], DAG | None]


def build(dag_file: str) -> dict[str, DAG]:
    """The DAGs of the folder, by id; in a task's process, that of the task alone.

    Each file is read once. What cannot be read or built is left out, and `check` reports it.
    """
    group = _platform(dag_file)
    wanted = get_parsing_context().dag_id
    experiments = _experiments(dag_file, group, wanted)
    built: dict[str, DAG] = {}
    makers = [*(_of(one, group) for one in experiments.values()), _of_all(experiments, group)]
    for dag_id, make in itertools.chain(*makers):
        if wanted not in (None, dag_id):
            continue
        try:
            dag = make()
        except Exception:
            _log.exception("There is no DAG %s: it cannot be built", dag_id)
            continue
        if dag is not None:
            built[dag_id] = dag
    return built


def check(dag_file: str) -> None:
    """Raise ImportError with every problem of the experiment files; make no DAG.

    A file that reads well, but whose runs would all be refused (above its budget, or platform.yaml
    lacks something), is reported too, and keeps its DAG.

    A DAG file of its own calls this: an error in a file that has DAGs would stop them all, as
    Airflow considers every DAG of a file with an import error stale. So the other file skips what
    it cannot read, and this one reports it under "Dag Import Errors" in the UI and in
    `airflow dags list-import-errors`. An experiment with problems has no DAG until its file is
    fixed; its runs and their logs are kept.
    """
    from trellis.workflow.assembly import chain

    group = _platform(dag_file)
    wrong = []
    good: dict[str, Experiment] = {}
    for file in sorted(itertools.chain(*files(_folder(dag_file)))):
        try:
            experiment = load(file, profile=group.profile)
            good[experiment.name] = experiment
            check_on(group, file, experiment, chain.at_most, group.profile)
            # As the other file does: unforeseen errors are reported, too.
            with about_file(file):
                for _, make in _of(experiment, group):
                    make()
        except FileError as error:
            wrong.append(str(error))
    for dag_id, make in _of_all(good, group):
        try:
            make()
        except Exception as error:
            wrong.append(f"The DAG {dag_id} cannot be built: {type(error).__name__}: {error}")
    if wrong:
        raise ImportError("\n\n".join(["Experiment files with problems.", *wrong]))


def _of(experiment: Experiment, group: Platform) -> Iterator[tuple[str, Maker]]:
    """The DAGs of one experiment: their ids, and what makes each."""
    yield group.dag_id(experiment.name), partial(_training, experiment, group)
    if experiment.predict is not None:
        dag_id = group.dag_id(experiment.name + PREDICTIONS)
        yield dag_id, partial(_prediction, experiment, group)
    if experiment.deploy is not None:
        yield group.dag_id(experiment.name + RESERVE), partial(_reserve, experiment, group)


def _of_all(experiments: Experiments, group: Platform) -> Iterator[tuple[str, Maker]]:
    """The DAGs that serve all experiments: their ids, and what makes each, if it is needed."""
    for name, make in _SHARED.items():
        yield group.dag_id(name), partial(make, experiments, group)


def _training(experiment: Experiment, group: Platform) -> DAG:
    from trellis.workflow.assembly import training

    return training.build(experiment, group)


def _prediction(experiment: Experiment, group: Platform) -> DAG:
    from trellis.workflow.assembly import prediction

    return prediction.build(experiment, group)


def _reserve(experiment: Experiment, group: Platform) -> DAG:
    from trellis.workflow.assembly import reserve

    return reserve.build(experiment, group)


def _rollback(experiments: Experiments, group: Platform) -> DAG | None:
    """Needed if any experiment deploys its model.

    An experiment whose file has problems cannot be rolled back until the file is fixed: its
    machines are unknown.
    """
    from trellis.workflow.assembly import rollback

    deploying = {name: one for name, one in experiments.items() if one.deploy is not None}
    return rollback.build(deploying, group) if deploying else None


def _undeploy_previous(experiments: Experiments, group: Platform) -> DAG | None:
    """Needed if any experiment deploys its model.

    It exists even if no experiment has `keep_previous` now: one that had it may have left a run
    that waits for its time, and without its DAG would wait forever.
    """
    from trellis.workflow.assembly import undeploy_previous

    owners = [one.owner for one in experiments.values() if one.deploy is not None]
    return undeploy_previous.build(group, owners) if owners else None


def _watch(experiments: Experiments, group: Platform) -> DAG | None:
    """Needed if an experiment waits for new data or another's champion, or has requests kept."""
    if all(
        (by_time(one.schedule) or one.schedule == MANUAL)
        and (one.deploy is None or one.deploy.requests is None)
        for one in experiments.values()
    ):
        return None
    from trellis.workflow.assembly import watch

    return watch.build(experiments, group) if watch.needed(experiments) else None


def _digest(_: Experiments, group: Platform) -> DAG | None:
    """Needed if platform.yaml asks for it."""
    if group.digest is None:
        return None
    from trellis.results import digest_dag

    return digest_dag.build(group, group.digest)


def _idle_endpoints(_: Experiments, group: Platform) -> DAG | None:
    """Needed if platform.yaml asks for it."""
    if group.idle_endpoints is None:
        return None
    from trellis.workflow.assembly import idle_endpoints

    return idle_endpoints.build(group, group.idle_endpoints)


_SHARED: Mapping[str, Callable[[Experiments, Platform], DAG | None]] = {
    "rollback": _rollback,
    "undeploy_previous": _undeploy_previous,
    "watch": _watch,
    "digest": _digest,
    "idle_endpoints": _idle_endpoints,
}


def _experiments(dag_file: str, group: Platform, wanted: str | None) -> dict[str, Experiment]:
    """The good experiments, by name, that the wanted DAG is made of; None: all."""
    every = wanted is None or wanted in map(group.dag_id, _SHARED)
    good: dict[str, Experiment] = {}
    for file in files(_folder(dag_file))[0]:
        own = [group.dag_id(file.stem + end) for end in ("", PREDICTIONS, RESERVE)]
        if every or wanted in own:
            try:
                experiment = load(file, profile=group.profile)
            except FileError:
                continue
            good[experiment.name] = experiment
    return good


def _folder(dag_file: str) -> Path:
    return Path(dag_file).parent / FOLDER


def _platform(dag_file: str) -> Platform:
    return platform.load(Path(dag_file).parent)

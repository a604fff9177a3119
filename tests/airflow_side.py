"""Base of the tests of Airflow's side: an Airflow of their own, and a real local_gcp.

A conftest imports this module before anything of Airflow is imported (Airflow reads its settings
once), and takes the fixtures from it. Nothing of a developer's own Airflow is read or written.
"""

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httplib2
import pytest

from tests import library_calls

ROOT = Path(__file__).resolve().parents[1]

# The folder for DAG files stays empty: a test says itself which DAG it runs.
_home = tempfile.TemporaryDirectory(prefix="trellis-airflow-")
Path(_home.name, "dags").mkdir()
os.environ |= {
    "AIRFLOW_HOME": _home.name,
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    # A file's connection is never lost.
    "AIRFLOW__DATABASE__SQL_ALCHEMY_POOL_PRE_PING": "False",
    # For the local_gcp that conftest.py starts: programs of the tests, beside the job image.
    "LOCAL_GCP_IMAGES": f"{ROOT / 'tests/trellis/images.yaml'}:{ROOT / 'demo/images.yaml'}",
    # Its log then has every call: see `run_logs`.
    "LOCAL_GCP_LOG_LEVEL": "DEBUG",
}
library_calls.check_schemas_once()

run_logs: list[str] = []
"""What local_gcp has logged while a DAG ran. Who reads it empties it."""


@pytest.fixture(scope="session")
def airflow_database() -> None:
    """Airflow's database, empty, in the test's own home."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.utils.db import initdb

    library_calls.make_the_newest_task_api_alone()
    library_calls.read_dependencies_once()
    library_calls.call_where_it_is_awaited()
    library_calls.leave_commits_unsynced()
    initdb()
    DagBundlesManager().sync_bundles_to_db()


@pytest.fixture(scope="session")
def google(local_gcp: Any, airflow_database: None) -> Any:
    """Google Cloud as emulated by local_gcp, and an Airflow whose connections point to it."""
    # For the whole session: gRPC reads its certificates once, when it is first used.
    os.environ |= local_gcp.client_env
    # httplib2 read its own when it was imported, before there was a local_gcp.
    httplib2.CA_CERTS = os.environ["HTTPLIB2_CA_CERTS"]
    library_calls.share_credentials()
    library_calls.read_proxies_from_their_names()
    return local_gcp


def run_dag(
    dag: Any,
    meanwhile: Callable[[], None] | None = None,
    marked: str | None = None,
    **conf: Any,
) -> Any:
    """Run a DAG to its end in this process, deferred waits and retries included: the DagRun.

    The run has no logical date, as one that a person triggers without. meanwhile: what happens
    outside, again and again, while no task can run. marked: a pattern of the tasks that are marked
    as success and do not run.
    """
    store(dag)
    with _short_pauses(meanwhile), _logged():
        return dag.test(logical_date=None, run_conf=conf, mark_success_pattern=marked)


def store(dag: Any) -> None:
    """Make a DAG known, as the DAG processor does."""
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db

    bag = DagBag(os.devnull, collect_dags=False)
    bag.bag_dag(dag)
    sync_bag_to_db(bag, "dags-folder", None)


@contextlib.contextmanager
def _short_pauses(meanwhile: Callable[[], None] | None = None) -> Iterator[None]:
    """`dag.test` sleeps a second whenever no task can run; for a test that is most of its time."""
    sleep = time.sleep

    def shorter(seconds: float) -> None:
        asked_by = sys._getframe(1).f_code.co_filename
        waits = asked_by.endswith("sdk/definitions/dag.py")
        if waits and meanwhile:
            meanwhile()
        sleep(0.05 if waits else seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", shorter)
        yield


@contextlib.contextmanager
def _logged() -> Iterator[None]:
    log = Path(os.environ.get("LOCAL_GCP_HOME", os.devnull), "server.log")
    start = log.stat().st_size if log.is_file() else None
    try:
        yield
    finally:
        if start is not None:
            with log.open("rb") as file:
                file.seek(start)
                run_logs.append(file.read().decode())


def clear_and_run(dag: Any, run: Any) -> dict[str, str]:
    """Clear all tasks of a run, as a person does in the UI, and run them again: their states."""
    from airflow.models.taskinstance import clear_task_instances

    return _run_again(dag, run, clear_task_instances)


def clear_and_go_on(
    dag: Any, run: Any, task_id: str | None = None, alone: bool = False, marked: str | None = None
) -> Any:
    """Clear a task and all that follows it, or all tasks, and let the run go on: the DagRun.

    Other than with `clear_and_run`, what runs follows from states and trigger rules. alone: what
    follows the task stays, and of a mapped task only the first copy is cleared. marked: a state
    that the task gets by hand, in place of running again.
    """
    from airflow.models.taskinstance import clear_task_instances
    from airflow.sdk.definitions.dag import _run_task
    from airflow.serialization.serialized_objects import DagSerialization
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState, TaskInstanceState

    follows = task_id and not alone
    following = dag.get_task(task_id).get_flat_relative_ids(upstream=False) if follows else ()
    wanted = {task_id, *following} if task_id else set(dag.task_ids)
    # The DAG as the scheduler knows it; a run of `run_dag` has it.
    stored = run.dag or DagSerialization.from_dict(DagSerialization.to_dict(dag))
    with create_session() as session, _logged():
        run = session.merge(run)
        run.dag = stored
        tasks = run.get_task_instances(session=session)
        cleared = [ti for ti in tasks if ti.task_id in wanted and (ti.map_index < 1 or not alone)]
        clear_task_instances(cleared, session)
        for ti in cleared:
            if marked and ti.task_id == task_id:
                ti.state = marked
        run.state = DagRunState.RUNNING
        while run.state == DagRunState.RUNNING:
            ready, _ = run.update_state(session=session)
            for ti in ready:
                ti.try_number += 1
                ti.state = TaskInstanceState.SCHEDULED
            session.commit()
            for ti in ready:
                _run_task(ti=ti, task=dag.get_task(ti.task_id), run_triggerer=True)
            session.expire_all()
        return run


def retry_lost(dag: Any, run: Any) -> dict[str, str]:
    """Run the tasks of a run whose process was lost once more, as the scheduler does: no clear."""

    def begin_anew(tasks: list[Any], session: Any) -> None:
        for ti in tasks:
            ti.next_method = ti.next_kwargs = None

    return _run_again(dag, run, begin_anew)


def take_over(dag: Any, run: Any) -> dict[str, str]:
    """Go on with the deferred tasks of a run whose triggerer was lost, as another triggerer does,
    and then a task's process: their states.
    """
    from airflow.models.trigger import Trigger
    from airflow.sdk._shared.module_loading import import_string
    from airflow.sdk.definitions.dag import _run_inline_trigger
    from airflow.sdk.serde import serialize

    def fire(tasks: list[Any], session: Any) -> None:
        for ti in tasks:
            stored = session.get(Trigger, ti.trigger_id)
            trigger = import_string(stored.classpath)(**stored.kwargs)
            event = _run_inline_trigger(trigger, ti)
            ti.next_kwargs = {"event": serialize(event.payload)}
            ti.try_number -= 1  # The attempt goes on.

    return _run_again(dag, run, fire)


def _run_again(dag: Any, run: Any, prepare: Any) -> dict[str, str]:
    from airflow.sdk.definitions.dag import _run_task
    from airflow.utils.session import create_session
    from airflow.utils.state import TaskInstanceState

    with create_session() as session, _logged():
        tasks = session.merge(run).get_task_instances(session=session)
        prepare(tasks, session)
        for ti in tasks:
            # What the scheduler does with a task whose time has come.
            ti.try_number += 1
            ti.state = TaskInstanceState.SCHEDULED
        session.commit()
        for ti in tasks:
            _run_task(ti=ti, task=dag.get_task(ti.task_id), run_triggerer=True)
        return {ti.task_id: ti.state for ti in tasks}

"""People who answer a run's question through Airflow's own API, and the scheduler that wakes it.

`dag.test` has neither: what is here happens in the pauses of `run_dag`.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

PEOPLE = {"ada": "admin", "olga": "op", "oskar": "op", "uwe": "user", "vera": "viewer"}
"""Users of Airflow, each with its role."""


@contextlib.contextmanager
def api() -> Iterator[Callable[[str], Any]]:
    """The application of an api-server; yields a function that makes the browser of a user."""
    from airflow.api_fastapi.app import create_app, get_auth_manager, purge_cached_app
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from fastapi.testclient import TestClient

    manager = "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager"
    before = dict(os.environ)
    os.environ |= {
        "AIRFLOW__CORE__AUTH_MANAGER": manager,
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(map(":".join, PEOPLE.items())),
        "AIRFLOW__API_AUTH__JWT_SECRET": "x" * 64,
    }
    purge_cached_app()
    application = create_app("core")

    def browser(name: str) -> Any:
        user = SimpleAuthManagerUser(username=name, role=PEOPLE[name])
        client = TestClient(application, base_url="http://testserver")
        client.cookies.set("_token", get_auth_manager().generate_jwt(user))
        return client

    try:
        yield browser
    finally:
        purge_cached_app()
        os.environ.clear()
        os.environ |= before


class People:
    """Answers the question of a DAG's newest run, once, while it waits: each of `answers` is
    (user, option, reason, or all fields of the answer). codes: HTTP status codes of the answers.
    questions: as the API has them.
    """

    def __init__(self, browser: Callable[[str], Any], dag_id: str, *answers: tuple[str, str, Any]):
        self._browser, self._dag_id, self._answers = browser, dag_id, list(answers)
        self.codes: list[int] = []
        self.questions: list[Any] = []

    def __call__(self) -> None:
        waiting = task_instances(self._dag_id, "awaiting_input")
        if waiting and self._answers:
            user, option, reason = self._answers.pop(0)
            run = f"/api/v2/dags/{self._dag_id}/dagRuns/{quote(waiting[0].run_id, safe='')}"
            address = f"{run}/taskInstances/{waiting[0].task_id}/-1/hitlDetails"
            self.questions.append(self._browser("ada").get(address).json())
            fields = reason if isinstance(reason, dict) else {"reason": reason}
            answer = {"chosen_options": [option], "params_input": fields}
            self.codes.append(self._browser(user).patch(address, json=answer).status_code)


def sweep() -> None:
    """Wake tasks whose time is over, as the scheduler does in its loop."""
    from airflow.jobs.job import Job
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner

    SchedulerJobRunner(Job(), num_runs=1).check_awaiting_input_timeouts()


def task_instances(dag_id: str, state: str) -> list[Any]:
    """The DAG's task instances in a state."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from sqlalchemy import select

    wanted = TaskInstance.dag_id == dag_id, TaskInstance.state == state
    with create_session() as session:
        return list(session.scalars(select(TaskInstance).where(*wanted)))

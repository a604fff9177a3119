"""People who answer a run's question through Airflow's own API, and the scheduler that wakes it.

`dag.test` has neither: what is here happens in the pauses of `run_dag`.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

PEOPLE = {"ada": "admin", "olga": "op", "oskar": "op", "uwe": "user", "vera": "viewer"}
"""Users of Airflow, each with its role."""

SIMPLE = "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager"
FAB = "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager"

BUCKET = "approve-tests"


@contextlib.contextmanager
def api(manager: str = SIMPLE, people: Any = None) -> Iterator[Callable[[str], Any]]:
    """The application of an api-server; yields a function that makes the browser of a user.

    manager: Airflow's auth manager. people: of FAB's, roles by name: ada is registered with the
    address ada@example.com.
    """
    from airflow.api_fastapi.app import create_app, get_auth_manager, purge_cached_app
    from fastapi.testclient import TestClient

    before = dict(os.environ)
    os.environ |= {
        "AIRFLOW__CORE__AUTH_MANAGER": manager,
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(map(":".join, PEOPLE.items())),
        "AIRFLOW__API_AUTH__JWT_SECRET": "x" * 64,
    }
    purge_cached_app()
    application = create_app("core")
    users = _of_fab(people) if manager == FAB else _simple()

    def browser(name: str) -> Any:
        client = TestClient(application, base_url="http://testserver")
        client.cookies.set("_token", get_auth_manager().generate_jwt(users[name]))
        return client

    try:
        yield browser
    finally:
        purge_cached_app()
        os.environ.clear()
        os.environ |= before


def _simple() -> dict[str, Any]:
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    return {n: SimpleAuthManagerUser(username=n, role=role) for n, role in PEOPLE.items()}


def _of_fab(people: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """Users in FAB's tables as Composer registers them: the name is of an account, a number."""
    from airflow.providers.fab.auth_manager.cli_commands.utils import get_application_builder

    with get_application_builder() as builder:
        manager = builder.sm
        manager.sync_roles()
        made = {}
        for number, (name, roles) in enumerate(people.items(), 1):
            found = [manager.find_role(role) or manager.add_role(role) for role in roles]
            made[name] = manager.add_user(
                f"accounts.google.com:{number}", "", "", f"{name}@example.com", found, password="-"
            )
            assert made[name], name
        return made


class Asking:
    """A run that promotes a training, asks, and would deploy it; what it leaves.

    folder: of the run. sent: messages to people.
    """

    def __init__(self, google: Any, experiment: Any, platform: Any):
        from airflow.sdk import DAG
        from airflow.sdk import task as airflow_task

        from tests.trellis.results.made import a_leaderboard
        from trellis.workflow.contracts import layout
        from trellis.workflow.lookups import documents
        from trellis.workflow.stages import approve
        from trellis.workflow.stages.stage import Building

        self.experiment, self.platform = experiment, platform
        self.folder: Any = None
        self.sent: list[str] = []

        def tell(context: Any, text: str) -> None:
            self.sent.append(text)

        with DAG(experiment.name, default_args={"retries": 1, "retry_delay": 0.1}) as self.dag:

            @airflow_task(task_id="promote")
            def promote(run_id: Any) -> None:
                run = layout.Run.of(experiment, platform, run_id)
                self.folder = google.buckets / run.uri.removeprefix("gs://")
                documents.write_file(platform, run.leaderboard, a_leaderboard())

            @airflow_task(task_id="deploy")
            def deploy() -> None:
                pass

            question = approve.STAGE.tasks(Building(experiment, platform, (), print, tell))
            promote() >> question >> deploy()

    @property
    def record(self) -> Any:
        return json.loads((self.folder / "approval.json").read_text())

    def states(self, run: Any) -> dict[str, str]:
        assert run.state == "success"
        return {ti.task_id: str(ti.state) for ti in run.get_task_instances()}


def ask(
    google: Any, experiment: Any, group: Any, test: str, *people: str, within: str = "1 hour"
) -> Asking:
    """A run of the test's own experiment that asks these people."""
    from trellis.workflow.validation.file import with_changes

    (google.buckets / BUCKET).mkdir(exist_ok=True)
    deploy = {"gate": {"require": {"accuracy": 0.5}}, "approve": [*people], "within": within}
    changed = with_changes(experiment, {("deploy",): deploy})
    name = test.replace("_", "-")[5:45].strip("-")
    platform = group.model_copy(update={"bucket": BUCKET})
    return Asking(google, changed.model_copy(update={"name": name}), platform)


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

"""trained, repeated: wait for all copies of a mapped task, and say why if there are none.

Airflow makes no copies if the task that decides on them left nothing, and no task says so.
"""

from collections.abc import Callable
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from trellis.workflow.lookups.left import NothingLeftError


class EndedOperator(BaseOperator):
    """Succeeds when all copies have ended and, if `one_succeeded` asks for it, one has succeeded.

    of: the mapped task. made_by: the task that decides on its copies; None: the DAG does.
    """

    def __init__(
        self,
        *,
        of: str,
        made_by: str | None,
        one_succeeded: bool,
        on_failure: Callable[[Any], None],
        **kwargs: Any,
    ):
        def alert(context: Any) -> None:
            # A task that failed has sent its own alert.
            if isinstance(context.get("exception"), NothingLeftError):
                on_failure(context)

        super().__init__(trigger_rule="all_done", on_failure_callback=alert, **kwargs)
        self._of = of
        self._made_by = made_by
        self._one_succeeded = one_succeeded

    def execute(self, context: Any) -> None:
        ti = context["ti"]
        found = ti.get_task_states(dag_id=ti.dag_id, run_ids=[ti.run_id]).get(ti.run_id, {})
        whole = found.get(self._of)
        copies = [state for name, state in found.items() if name.startswith(f"{self._of}_")]
        if not copies and whole == "upstream_failed" and found.get(self._made_by) == "success":
            assert self._made_by is not None
            raise NothingLeftError(self._made_by, f"list for `{self._of}`")
        states = {*copies, whole}
        if not self._one_succeeded or "success" in states:
            return
        if "failed" in states:
            raise AirflowFailException(f"No `{self._of}` has succeeded: see its log.")
        if "upstream_failed" in states:
            raise AirflowFailException(f"No `{self._of}` has begun: {self._why_not(found)}.")
        raise NothingLeftError(self._of, "result")

    def _why_not(self, states: dict[str, str | None]) -> str:
        """Names the tasks before `of` that failed, or were marked so."""
        before = self.dag.get_task(self._of).get_flat_relative_ids(upstream=True)
        failed = sorted(name for name in before if states.get(name) == "failed")
        named = " and ".join(f"`{name}`" for name in failed) or "a task before it"
        return f"{named} failed"

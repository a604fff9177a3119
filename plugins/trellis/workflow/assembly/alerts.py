"""Reports a failed task: the stage, the cause, where to look and what to do.

One failure is one message to people, and one record in the log of each task that failed by it.
"""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from trellis.workflow.assembly.notifications import send
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.unread import unread

log = logging.getLogger("airflow.task")

# An alert is sent whatever its author forgot.
UNKNOWN = "The task's log has the cause. Clear this task once it is fixed."


def on_failure(
    platform: Platform,
    words: Mapping[str, str],
    record: Callable[[Any], None] | None = None,
    ends_run: Sequence[str] = (),
) -> Callable[[Any], None]:
    """Airflow's callback for a task that failed after its last retry: one error record in its log,
    and a message to those whom platform.yaml names.

    On Composer the task log is in Cloud Logging, where an alerting policy on "TRELLIS FAILURE"
    notifies the person on duty, too. words: what to do, by task; a key that ends with a dot or an
    underscore is for all tasks whose names begin with it. record: writes the failure down, after
    the message was sent. ends_run: tasks, or groups ending with a dot, for whose failure the task
    `result` fails.
    """

    def on_failure(context: Any) -> None:
        text = message(context, words)
        log.error("%s", text)
        if platform.notify and not _reported(context, ends_run):
            send(platform, context, text)
        if record is not None:
            try:
                record(context)
            except Exception:
                log.exception("The failure is not in the index of runs")

    return unread(on_failure)


def reported_already(context: Any, ends_run: Sequence[str]) -> bool:
    """Return whether another task of the run has failed by the same cause and reported it.

    `result` fails because of the training or deployment that failed before. Copies of one task
    mostly have one cause, and of those that fail in the same second more than one may tell.
    ends_run: as in `on_failure`.
    """
    ti = context["ti"]
    states = ti.get_task_states(dag_id=ti.dag_id, run_ids=[ti.run_id]).get(ti.run_id, {})
    failed = {name for name, state in states.items() if state == "failed"}
    if ti.task_id == "result":
        of_others = {name for name in failed if _is_any_of(name, ends_run)}
        return bool(of_others) and isinstance(context.get("exception"), AirflowFailException)
    copies = {name for name in failed if re.fullmatch(rf"{re.escape(ti.task_id)}_\d+", name)}
    return ti.map_index >= 0 and bool(copies - {f"{ti.task_id}_{ti.map_index}"})


def _is_any_of(name: str, tasks: Sequence[str]) -> bool:
    """Return whether a task, or a copy of one, is among these tasks and groups."""
    copy = re.sub(r"_\d+$", "", name)
    groups = tuple(task for task in tasks if task.endswith("."))
    return name in tasks or copy in tasks or name.startswith(groups)


def _reported(context: Any, ends_run: Sequence[str]) -> bool:
    try:
        return reported_already(context, ends_run)
    except Exception:
        # Two messages are better than none.
        log.exception("The states of the run's other tasks are not known")
        return False


def message(context: Any, words: Mapping[str, str]) -> str:
    """Write everything about one failure that the person on duty needs.

    words: as in `on_failure`.
    """
    ti = context["ti"]
    task_id = ti.task_id
    index = f" [{ti.map_index}]" if ti.map_index >= 0 else ""
    dag = context["dag"]
    lines = [
        f"TRELLIS FAILURE: {dag.dag_id} failed in {task_id}{index}",
        f"Run: {ti.run_id}, attempt {ti.try_number}. Owner: {dag.owner}",
        f"Why: {context.get('exception') or 'its process was lost; Airflow knows no more'}",
        f"What to do: {advice(words, task_id)}",
        f"Log: {ti.log_url}",
    ]
    return "\n".join(lines)


def advice(words: Mapping[str, str], task_id: str) -> str:
    """Return what to do after this task has failed: the words of the longest key that fits it."""
    parts = re.split(r"(?<=[._])", task_id)
    beginnings = ["".join(parts[:n]) for n in range(len(parts), 0, -1)]
    return next((words[key] for key in beginnings if key in words), UNKNOWN)

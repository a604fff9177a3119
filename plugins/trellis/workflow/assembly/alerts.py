"""Reports a failed task: the stage, the cause, where to look and what to do.

One failure is one message to people, and one record in the log of each task that failed by it.
"""

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from trellis.workflow.assembly.notifications import send
from trellis.workflow.assembly.short_source import short
from trellis.workflow.spec.platform import Platform

log = logging.getLogger("airflow.task")

ADVICE = {
    "plan": "Nothing was spent. Change the experiment file, its source or the run's parameters, as "
    "the message says, and trigger a new run.",
    "export": "If images are at fault, rejected.jsonl beside the dataset lists them: fix the "
    "manifest and trigger a new run. If the fault was Google's, clear this task.",
    "snapshot": "BigQuery's message names what it could not read. Fix the source and trigger a new "
    "run; if the fault was Google's, clear this task.",
    "check": "Nothing was spent on training. The message names what cannot be learned from: fix "
    "the table, or exclude those rows or columns with a query, and trigger a new run.",
    "extract": "The snapshot is safe. Clear this task to write its files again.",
    "baselines": "The baselines are safe. Clear this task; the comparison follows.",
    "changes": "Nothing was spent on training, and the served model is unchanged. Correct the "
    "data, or trigger a run with `accept_changes`. Later data are not compared with these.",
    "tune": "The logs of the failed trials name the cause, most often a range in which trainings "
    "diverge. Change `tune` and trigger a new run; if the fault was Google's, clear this task.",
    "choose": "The search found nothing to train: see the stage `tune`.",
    "train": "Clear this task to continue the training from its last checkpoint. The other "
    "trainings, and their leaderboard, do not wait for it.",
    "trained": "The message names the task to clear; the comparison follows.",
    "repeated": "The message names the task to clear; the comparison follows.",
    "select": "The trainings are safe. Clear this task; the repeats and the comparison follow.",
    "repeat": "Clear this task to continue the repeat from its last checkpoint; the comparison "
    "follows. The leaderboard that exists by then shows this seed as failed.",
    "served": "Clear this task once the cause is fixed. The comparison waits for it, the trainings "
    "do not.",
    "compare": "The trainings are safe. Clear this task to compare again.",
    "promote": "The served model is unchanged, and the leaderboard exists. Follow the message.",
    "result": "The leaderboard exists. Clear the failed training, or the failed step of the "
    "deployment, to complete it.",
}

_OF_DEPLOYMENT = (
    "The previous model still serves all requests, or does so again: `deploy.retreat` restores it. "
    "To try again once the cause is fixed, clear this task and those after it."
)

_OF_BASELINES = (
    "The run goes on: its leaderboard shows this baseline as failed. To include it, clear this "
    "task once the cause is fixed; its record and the comparison follow."
)


def on_failure(
    platform: Platform,
    words: Mapping[str, str] | None = None,
    record: Callable[[Any], None] | None = None,
) -> Callable[[Any], None]:
    """Airflow's callback for a task that failed after its last retry: one error record in its log,
    and a message to those whom platform.yaml names.

    On Composer the task log is in Cloud Logging, where an alerting policy on "TRELLIS FAILURE"
    notifies the person on duty, too. words: what to do, by task, in another kind of DAG. record:
    writes the failure down, after the message was sent.
    """

    def on_failure(context: Any) -> None:
        text = message(context, words.__getitem__ if words else None)
        log.error("%s", text)
        if platform.notify and not _reported(context):
            send(platform, context, text)
        if record is not None:
            try:
                record(context)
            except Exception:
                log.exception("The failure is not in the index of runs")

    return short(on_failure)


def reported_already(context: Any) -> bool:
    """Return whether another task of the run has failed by the same cause and reported it.

    `result` fails because of the training or deployment that failed before. Copies of one task
    mostly have one cause, and of those that fail in the same second more than one may tell.
    """
    ti = context["ti"]
    states = ti.get_task_states(dag_id=ti.dag_id, run_ids=[ti.run_id]).get(ti.run_id, {})
    failed = {name for name, state in states.items() if state == "failed"}
    if ti.task_id == "result":
        causes = re.compile(r"(train|repeat)(_|$)|promote$|deploy\.")
        of_others = {name for name in failed if causes.match(name)}
        return bool(of_others) and isinstance(context.get("exception"), AirflowFailException)
    copies = {name for name in failed if re.fullmatch(rf"{re.escape(ti.task_id)}_\d+", name)}
    return ti.map_index >= 0 and bool(copies - {f"{ti.task_id}_{ti.map_index}"})


def _reported(context: Any) -> bool:
    try:
        return reported_already(context)
    except Exception:
        # Two messages are better than none.
        log.exception("The states of the run's other tasks are not known")
        return False


def message(context: Any, advise: Callable[[str], str] | None = None) -> str:
    """Write everything about one failure that the person on duty needs."""
    advise = advise or advice
    ti = context["ti"]
    task_id = ti.task_id
    index = f" [{ti.map_index}]" if ti.map_index >= 0 else ""
    dag = context["dag"]
    lines = [
        f"TRELLIS FAILURE: {dag.dag_id} failed in {task_id}{index}",
        f"Run: {ti.run_id}, attempt {ti.try_number}. Owner: {dag.owner}",
        f"Why: {context.get('exception') or 'its process was lost; Airflow knows no more'}",
        f"What to do: {advise(task_id)}",
        f"Log: {ti.log_url}",
    ]
    return "\n".join(lines)


def advice(task_id: str) -> str:
    """Return what to do after this task has failed."""
    others = _OF_DEPLOYMENT if task_id.startswith("deploy.") else _OF_BASELINES
    return ADVICE.get(task_id, others)

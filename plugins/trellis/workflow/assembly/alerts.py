"""What a failure says: the stage, what Google says, where to look, what to do."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

log = logging.getLogger("airflow.task")

ADVICE = {
    "plan": "Change the experiment file, its manifest or the run's parameters, as the message "
    "says, and trigger a new run. Nothing was spent.",
    "export": "If images are at fault, rejected.jsonl beside the dataset names them. Mend the "
    "manifest and trigger a new run; clear this task if the fault was Google's.",
    "snapshot": "BigQuery's message says what it would not read. Mend the source and trigger a new "
    "run; clear this task if the fault was Google's.",
    "check": "The rows cannot be learned from, as the message says. Mend the table, or leave those "
    "rows or columns out in a query, and trigger a new run. Nothing was spent on training.",
    "extract": "The snapshot is safe. Clear this task to write its files again.",
    "baselines": "The baselines are safe. Clear this task; the comparison follows.",
    "tune": "The logs of the failed trials say why. A range that makes trainings diverge is the "
    "usual cause. Change `tune` and trigger a new run; clear this task if it was Google's fault.",
    "choose": "The search gave nothing to train: see the stage before.",
    "train": "Clear this task to train again: it goes on from its last checkpoint. The other "
    "trainings, and a leaderboard of them, do not wait for it.",
    "served": "Once the cause is gone, clear this task: the comparison waits for it, the trainings "
    "do not.",
    "compare": "The trainings are safe. Clear this task to compare again.",
    "promote": "What is served is as it was, and the leaderboard is there. Do as the message says.",
    "result": "The leaderboard is there. Clear the training, or the step of the deployment, that "
    "failed to complete it.",
}

_OF_DEPLOYMENT = (
    "What was served before serves all requests again, or still does; `deploy.retreat` sees to it. "
    "Clear this task, and what follows it, to try again once the cause is gone."
)

_OF_BASELINES = (
    "The run goes on: its leaderboard shows this baseline as failed. To have it, clear this task "
    "once the cause is gone; its record and the comparison follow."
)


def on_failure(context: Any) -> None:
    """Airflow's callback for a task that failed for good: one error line that can be alerted on.

    On Composer the task log is in Cloud Logging, where an alerting policy on "TRELLIS FAILURE"
    reaches whoever is on duty.
    """
    log.error("%s", message(context))


def on_failure_with(words: Mapping[str, str]) -> Callable[[Any], None]:
    """The same for a DAG of another kind: `words` says what to do, by task."""

    def on_failure(context: Any) -> None:
        log.error("%s", message(context, words.__getitem__))

    return on_failure


def message(context: Any, advise: Callable[[str], str] | None = None) -> str:
    """The whole story of one failure, for someone who was asleep."""
    advise = advise or advice
    ti = context["ti"]
    task_id = ti.task_id
    index = f" [{ti.map_index}]" if ti.map_index >= 0 else ""
    dag = context["dag"]
    lines = [
        f"TRELLIS FAILURE: {dag.dag_id} failed in {task_id}{index}",
        f"Run: {ti.run_id}, attempt {ti.try_number}. Owner: {dag.owner}",
        f"Why: {context.get('exception') or 'its process was lost; Airflow says no more'}",
        f"What to do: {advise(task_id)}",
    ]
    return "\n".join(lines)


def advice(task_id: str) -> str:
    """What to do when this task has failed."""
    others = _OF_DEPLOYMENT if task_id.startswith("deploy.") else _OF_BASELINES
    return ADVICE.get(task_id, others)

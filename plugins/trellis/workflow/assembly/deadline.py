"""The message about a run that takes too long: an Airflow deadline of the experiment's DAG.

Airflow's scheduler notices that the time is over; the callback runs in the triggerer, which has the
installed package, and no DAG folder. So it is given all that it needs.
"""

import logging
from collections.abc import Mapping
from typing import Any

from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

from trellis.workflow.assembly.notifications import send_from_triggerer
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.notifier import Notifier
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.quantities import duration_text

log = logging.getLogger(__name__)


def deadline(experiment: Experiment, platform: Platform) -> DeadlineAlert | None:
    """The DAG's argument; None for an experiment without a deadline."""
    if experiment.deadline is None:
        return None
    notifiers = {name: n.model_dump(by_alias=True) for name, n in platform.notify.items()}
    return DeadlineAlert(
        # A run that waits for the one before it is late, too.
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=experiment.deadline,
        callback=AsyncCallback(
            late,
            kwargs={
                "notify": notifiers,
                "owner": experiment.owner,
                "after": duration_text(experiment.deadline),
            },
        ),
    )


async def late(
    notify: Mapping[str, Any], owner: str, after: str, context: Mapping[str, Any]
) -> None:
    """Airflow's callback. context: {"dag_run": as the REST API has it, "deadline": ...}."""
    text = message(context, owner, after)
    log.error("%s", text)
    notifiers = {name: Notifier.model_validate(entry) for name, entry in notify.items()}
    await send_from_triggerer(notifiers, context, text)


def message(context: Mapping[str, Any], owner: str, after: str) -> str:
    """Write everything about the run that the person on duty needs."""
    from airflow.sdk.configuration import conf

    run = context["dag_run"]
    dag, run_id = run["dag_id"], run["dag_run_id"]
    address = conf.get("api", "base_url", fallback="http://localhost:8080/").rstrip("/")
    return "\n".join(
        [
            f"TRELLIS LATE: {dag} is not done after {after}",
            f"Run: {run_id}, {run['state']} since {run['start_date'] or run['queued_at']}. "
            f"Owner: {owner}",
            "What to do: nothing is stopped by this, and the run stays within its budget. A task "
            "that is queued waits for a pool or a worker, a deferred one for its job, whose page "
            "its log has, one that awaits input for somebody's answer. To end the run, mark it as "
            "failed: that cancels its jobs.",
            f"Airflow: {address}/dags/{dag}/runs/{run_id}",
        ]
    )

"""Writes down that a task of a run has failed for good, and what the run has cost until then.

`result` completes a run's record; without a leaderboard it does not run.
"""

from collections.abc import Callable, Sequence
from typing import Any

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.record import Failure
from trellis.workflow.lookups import plans, records
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import costs
from trellis.workflow.stages.stage import Stage

# A record is read again and again, for lists of hundreds of runs.
_LONGEST = 4000

_LOST = "its process was lost; Airflow knows no more"


def recorder(
    experiment: Experiment, platform: Platform, stages: Sequence[Stage]
) -> Callable[[Any], None]:
    """Build the callback that records a failed task; it passes on the errors of Google's
    clients.
    """

    def record(context: Any) -> None:
        ti = context["ti"]
        failure = Failure(
            at=records.now(),
            task=ti.task_id if ti.map_index < 0 else f"{ti.task_id} [{ti.map_index}]",
            why=_why(context),
            so_far_usd=_so_far(experiment, platform, stages, ti),
        )
        records.fail(platform, layout.Run.of(experiment, platform, ti.run_id), failure)

    return record


def _why(context: Any) -> str:
    """The whole cause, as the log has it: `check` puts each reason into a line of its own."""
    text = str(context.get("exception") or _LOST).strip() or _LOST
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST].rstrip()} ... (the task's log has the rest)"


def _so_far(
    experiment: Experiment, platform: Platform, stages: Sequence[Stage], ti: Any
) -> dict[str, float] | None:
    """Cost so far by stage, of jobs that have ended, without baselines; None if it is not known."""
    try:
        plan = plans.load(experiment, platform, ti.run_id)
        return costs.spent(stages, plan, platform, ti, None)
    except Exception as error:
        print(f"What the run has cost so far is not known: {error}")
        return None

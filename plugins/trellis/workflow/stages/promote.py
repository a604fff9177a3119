"""promote: apply the comparison's decision: let the deployment go on, or skip it.

The gate was judged where the numbers are, by the comparison; the decision and its reasons stand in
leaderboard.json. Here is seen to it that they are still true of what is served now. Not to be
promoted is a normal end: the run is green.
"""

from typing import Any

from airflow.providers.standard.utils.skipmixin import SkipMixin
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from research import cost, layout
from research.experiment import Experiment
from research.platform import Platform


class PromoteOperator(BaseOperator, SkipMixin):
    """Returns {"promoted", "reason", "challenger", "checks", "served"}: the tasks behind it follow
    if it is promoted, and are skipped, also when they are cleared, if it is not.

    A BaseOperator, as Airflow asks only operators again when what they skipped is cleared.
    """

    def __init__(self, *, experiment: Experiment, platform: Platform, **kwargs: Any):
        super().__init__(**kwargs)
        self._experiment = experiment
        self._platform = platform

    def execute(self, context: Any) -> dict[str, Any]:
        from research import storage

        folder = layout.run_folder(context["run_id"], self._experiment.generation)
        run = layout.Run(self._platform.bucket, self._experiment.name, folder)
        decision = storage.read_json(self._platform, run.leaderboard)["promotion"]
        if decision is None:
            raise AirflowSkipException("This run deploys nothing: `deploy` is switched off.")
        for line in summary(decision):
            print(line)
        if decision["promoted"]:
            check_served(self._platform, run, decision)
            print(f"Serving costs {cost.serving(self._experiment)}.")
            return decision
        check_none_halfway(self._platform, run)
        # `skip` ends the task by an exception, and what it returns would be lost.
        context["ti"].xcom_push(key="return_value", value=decision)
        self.skip(context["ti"], self.get_direct_relatives(upstream=False))
        return decision


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task."""
    return PromoteOperator(task_id="promote", experiment=experiment, platform=platform)


def summary(decision: dict[str, Any]) -> list[str]:
    """The decision and its reasons, in lines."""
    who = decision["challenger"] or "No training"
    verb = "is promoted" if decision["promoted"] else "is not promoted"
    lines = [f"{who} {verb}: {decision['reason']}"]
    for check in decision["checks"]:
        mark = "passed" if check["passed"] else "FAILED"
        lines.append(f"  {mark}: {check['check']} ({check['detail']})")
    return lines


def check_none_halfway(platform: Platform, run: layout.Run) -> None:
    """Raises AirflowFailException if this run has left a model between canary and champion.

    So it may be where a training was cleared while its model was on the way, and the comparison,
    done anew, promotes nothing: the deployment that would go on, or take it back, is skipped.
    """
    from research import endpoint

    found = endpoint.look(platform, run)
    for version in found.versions if found else ():
        if version.own and not version.champion:
            raise AirflowFailException(
                f"This run promotes nothing any more, but it has deployed {version.name} before, "
                f"which has {version.traffic}% of the requests and is not the champion. Trigger "
                "the DAG `rollback` with the version `champion` (if there is none, undeploy it), "
                "then clear this task."
            )


def check_served(platform: Platform, run: layout.Run, decision: dict[str, Any]) -> None:
    """Raises AirflowFailException if the challenger was compared with what is served no more.

    What this run deployed itself does not count: it may be half on its way.
    """
    from research import endpoint

    found = endpoint.look(platform, run)
    now = found.before.name if found and found.before else None
    scored = decision["served"]["model"] if decision["served"] else None
    deployed = found is not None and any(version.own for version in found.versions)
    if now != scored and not (now is None and deployed):
        raise AirflowFailException(
            f"The challenger was compared with {scored or 'nothing, as nothing was served'}, but "
            f"now {now or 'nothing'} is served. Clear `served`, with what follows it: the "
            "comparison is done again with what is served then."
        )

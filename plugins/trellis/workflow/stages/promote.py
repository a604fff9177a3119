"""promote: apply the comparison's decision: start the deployment, or skip it.

The comparison evaluated the gate; leaderboard.json has the decision and its reasons. This stage
checks that they still hold for what is served now. A run that promotes nothing is a success.
"""

from typing import Any

from airflow.providers.standard.utils.skipmixin import SkipMixin
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.run_params import NOT_DEPLOYED
from trellis.workflow.lookups import documents, endpoint
from trellis.workflow.pricing import cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform


class PromoteOperator(BaseOperator, SkipMixin):
    """Returns {"promoted", "reason", "challenger", "checks", "served"}: the downstream tasks run if
    it is promoted; else they are skipped, even when they are cleared.

    A BaseOperator, as Airflow keeps cleared tasks skipped only below operators, not functions.
    """

    def __init__(self, *, experiment: Experiment, platform: Platform, **kwargs: Any):
        super().__init__(**kwargs)
        self._experiment = experiment
        self._platform = platform

    def execute(self, context: Any) -> dict[str, Any]:
        run = layout.Run.of(self._experiment, self._platform, context["run_id"])
        decision = documents.read(self._platform, "leaderboard", run.leaderboard)["promotion"]
        if decision is None:
            raise AirflowSkipException(f"This run deploys nothing: {NOT_DEPLOYED}.")
        for line in summary(decision):
            print(line)
        if decision["promoted"]:
            check_served(self._platform, run, decision)
            print(f"Serving costs {cost.serving(self._experiment, self._platform.region)}.")
            return decision
        check_none_halfway(self._platform, run)
        # `skip` raises an exception, which would lose the return value.
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
    """Raises AirflowFailException if this run left a model between canary and champion.

    This happens if a training was cleared during its model's deployment, and the new comparison
    promotes nothing: then the tasks that would continue or undo the deployment are skipped.
    """
    found = endpoint.find(platform, run)
    for version in found.versions if found else ():
        if version.own and not version.champion:
            raise AirflowFailException(
                f"This run now promotes nothing, but it deployed {version.name} before, "
                f"which has {version.traffic}% of the requests and is not the champion. Trigger "
                f"the DAG `{platform.dag_id('rollback')}` with the version `champion` (if there is "
                "none, undeploy it), "
                "then clear this task."
            )


def check_served(platform: Platform, run: layout.Run, decision: dict[str, Any]) -> None:
    """Raises AirflowFailException if the challenger was compared with a model no longer served.

    Ignores what this run deployed itself, perhaps partly.
    """
    found = endpoint.find(platform, run)
    now = found.before.name if found and found.before else None
    scored = decision["served"]["model"] if decision["served"] else None
    deployed = found is not None and any(version.own for version in found.versions)
    if now != scored and not (now is None and deployed):
        raise AirflowFailException(
            f"The challenger was compared with {scored or 'nothing, as nothing was served'}, but "
            f"now {now or 'nothing'} is served. Clear `served` and the tasks after it to "
            "compare again with what is served then."
        )

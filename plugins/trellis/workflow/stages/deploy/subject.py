"""What a deployment brings into service."""

from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from trellis.workflow.contracts.layout import Run
from trellis.workflow.lookups import documents, plans
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.deploy import messages
from trellis.workflow.stages.deploy.messages import Deployable
from trellis_contracts.approval import Approval
from trellis_contracts.challenger import Challenger
from trellis_contracts.leaderboard import Leaderboard


class Subject:
    """The training that a run of the experiment's DAG has promoted."""

    def __init__(self, experiment: Experiment, platform: Platform):
        self.experiment, self.platform = experiment, platform

    def run(self, run_id: str) -> Run:
        """The addresses of a run: of challenger.json and deployment.json, among others."""
        return Run.of(self.experiment, self.platform, run_id)

    def load(self, experiment: Experiment, platform: Platform, run_id: str) -> Deployable:
        """Read what the run has planned. Raises AirflowFailException."""
        return plans.load(experiment, platform, run_id)

    def challenger(self, context: Any) -> Challenger:
        """Read challenger.json, the comparison's facts about the challenger."""
        return documents.read_file(
            self.platform, Challenger, self.run(context["run_id"]).challenger
        )

    def approved(self, context: Any) -> None:
        """Check, before a version is registered, that its deployment was approved, if the file asks
        for that: a person may mark `approve` as success. Raises AirflowFailException.
        """
        if not self.experiment.deployment.approve:
            return
        run = self.run(context["run_id"])
        board = documents.read_file(self.platform, Leaderboard, run.leaderboard)
        found = documents.read_file(self.platform, Approval, run.approval)
        if not found.approves(board):
            raise AirflowFailException(
                f"Nobody has approved of deploying {found.challenger} of this comparison: "
                f"{found.summary}. To ask again, clear `approve` and the tasks after it."
            )

    def model(self, plan: Any, platform: Platform, challenger: Challenger) -> dict[str, Any]:
        """The Model to upload. plan: as `load` returns it."""
        return messages.model(plan, platform, challenger)

"""The operator of the stage `approve`."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Param
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import TaskAwaitingInput

from trellis.workflow.contracts.layout import Run
from trellis.workflow.lookups import documents
from trellis.workflow.lookups.left import NothingLeftError
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.quantities import duration_text
from trellis.workflow.stages import promote
from trellis_contracts.approval import (
    APPROVED,
    EXPIRED,
    OVERTAKEN,
    REJECTED,
    Approval,
    State,
    digest,
)
from trellis_contracts.leaderboard import Leaderboard, Promotion

REASON = "reason"
"""Field of the answer."""

_LOOK = timedelta(minutes=15)
"""After this time without an answer, the task looks whether another model is served by now."""


class ApproveOperator(ApprovalOperator):
    """Asks the approvers of an experiment's file whether the promoted training is deployed.

    Returns approval.json's content. What follows runs only if they approve; else it is skipped.

    :param tell: sends a message to people; called with the context and the text.
    """

    def __init__(
        self,
        *,
        experiment: Experiment,
        platform: Platform,
        tell: Callable[[Any, str], None],
        **kwargs: Any,
    ):
        super().__init__(
            subject=f"Serve a new model of {experiment.name}?",
            params={
                REASON: Param(
                    None,
                    type=["null", "string"],
                    title="Reason",
                    description="why; the history of the experiment shows it",
                )
            },
            # Of a role, trellis.web.approvers enters the user who answers.
            assigned_users=[{"id": name, "name": name} for name in experiment.deployment.approve],
            **kwargs,
        )
        self.experiment, self.platform, self.tell = experiment, platform, tell

    def execute(self, context: Any) -> Any:
        run, board = self._board(context)
        decision = self._promotion(board)
        found = documents.find_file(self.platform, Approval, run.approval)
        if found is not None and found.approves(board):
            # Whoever clears this task, or a process that died, does not undo an answer.
            return self._approved(context, run, decision, found)
        now = datetime.now(UTC)
        asked = Approval(
            run=run.uri,
            challenger=decision.challenger or "",
            leaderboard=digest(board),
            approvers=self.experiment.deployment.approve,
            asked=_text(now),
            until=_text(now + self.experiment.deployment.within),
        )
        if change := promote.served_instead(self.platform, run, decision):
            return self._denied(context, run, asked, OVERTAKEN, change)
        documents.write_file(self.platform, run.approval, asked)
        self.body = _body(self.dag_id, run, decision, asked)
        self.tell(context, self._message(context, run, decision))
        self.response_timeout = _wait(asked, now)
        return super().execute(context)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        run, board = self._board(context)
        decision = self._promotion(board)
        asked = documents.read_file(self.platform, Approval, run.approval)
        if event.get("error_type") == "timeout":
            return self._unanswered(context, run, decision, asked)
        # The operator above it would skip before anything is recorded.
        answer = super(ApprovalOperator, self).execute_complete(context, event)
        approved = answer["chosen_options"] == [self.APPROVE]
        person = answer["responded_by_user"]
        reason = str(answer["params_input"].get(REASON) or "").strip() or None
        ended = replace(
            asked,
            state=APPROVED if approved else REJECTED,
            at=_text(answer["responded_at"]),
            by=person["name"] if person else None,
            reason=reason,
        )
        documents.write_file(self.platform, run.approval, ended)
        if approved:
            return self._approved(context, run, decision, ended)
        return self._skip(context, ended)

    def validate_params_input(self, params_input: Any) -> None:
        """Accept whatever fields came with an answer: Airflow would lose it, and ask again."""

    def _unanswered(self, context: Any, run: Run, decision: Promotion, asked: Approval) -> Any:
        """Wait on, unless the time is over or another model is served."""
        try:
            change = promote.served_instead(self.platform, run, decision)
        except Exception as error:
            # It is looked up again, at the latest after an approval. A retry would ask anew.
            self.log.warning("What is served now is not known: %s", error)
            change = None
        if change:
            return self._denied(context, run, asked, OVERTAKEN, change)
        now = datetime.now(UTC)
        if datetime.fromisoformat(asked.until) <= now:
            return self._denied(context, run, asked, EXPIRED, None)
        raise TaskAwaitingInput(method_name="execute_complete", timeout=_wait(asked, now))

    def _approved(self, context: Any, run: Run, decision: Promotion, ended: Approval) -> Any:
        if change := promote.served_instead(self.platform, run, decision):
            return self._denied(context, run, ended, OVERTAKEN, f"{ended.summary}, but {change}")
        print(f"{decision.challenger}: {ended.summary}.")
        return ended.to_document()

    def _denied(
        self, context: Any, run: Run, asked: Approval, state: State, reason: str | None
    ) -> Any:
        ended = replace(asked, state=state, at=_text(datetime.now(UTC)), reason=reason)
        documents.write_file(self.platform, run.approval, ended)
        return self._skip(context, ended)

    def _skip(self, context: Any, ended: Approval) -> Any:
        print(f"{ended.challenger} is not deployed: {ended.summary}.")
        # `skip` raises an exception, which would lose the return value.
        context["ti"].xcom_push(key="return_value", value=ended.to_document())
        self.skip(context["ti"], self.get_direct_relatives(upstream=False))
        return ended.to_document()

    def _board(self, context: Any) -> tuple[Run, Leaderboard]:
        run = Run.of(self.experiment, self.platform, context["run_id"])
        return run, documents.read_file(self.platform, Leaderboard, run.leaderboard)

    @staticmethod
    def _promotion(board: Leaderboard) -> Promotion:
        """The decision. Raises NothingLeftError if `promote` was marked as success by hand."""
        if board.promotion is None or not board.promotion.promoted:
            raise NothingLeftError("promote", "training that is promoted")
        return board.promotion

    def _message(self, context: Any, run: Run, decision: Promotion) -> str:
        deploy = self.experiment.deployment
        link = self.generate_link_to_ui_from_context(context=context, base_url=_airflow())
        return "\n".join(
            [
                f"TRELLIS APPROVAL: {self.dag_id} asks whether it may serve {decision.challenger}",
                f"Run: {context['run_id']}. Owner: {self.experiment.owner}",
                f"Why: {decision.reason}",
                f"Report: {_page(self.dag_id, run)} ({run.report})",
                f"Answer within {duration_text(deploy.within)}, as {' or '.join(deploy.approve)}: "
                f"{link}",
            ]
        )


def _wait(asked: Approval, now: datetime) -> timedelta:
    return min(_LOOK, datetime.fromisoformat(asked.until) - now)


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _airflow() -> str:
    found: str = conf.get("api", "base_url", fallback="http://localhost:8080/")
    return found.rstrip("/")


def _page(dag_id: str, run: Run) -> str:
    return f"{_airflow()}/trellis/experiments/{dag_id}/runs/{run.folder}"


def _body(dag_id: str, run: Run, decision: Promotion, asked: Approval) -> str:
    """The question in Markdown."""
    instead = decision.served.model if decision.served else None
    page = _page(dag_id, run)
    return "\n".join(
        [
            f"**{decision.challenger}** has passed the gate: {decision.reason}.",
            "",
            *(f"- {check.check}: {check.detail}" for check in decision.checks),
            "",
            f"It would replace `{instead}`." if instead else "Nothing is served yet.",
            "",
            f"[The run and its report]({page}), also as `{run.report}`",
            "",
            f"Without an answer until {asked.deadline}, it is not deployed.",
        ]
    )

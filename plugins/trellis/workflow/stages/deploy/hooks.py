"""Work of a deployment's tasks before and after their operators: check that nobody else has changed
the endpoint or the champion, and record the step.
"""

from typing import Any

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.aliases import CHAMPION, PREVIOUS
from trellis.workflow.lookups import left, requests_table
from trellis.workflow.stages.deploy.current import CurrentState
from trellis.workflow.stages.deploy.record import Record
from trellis.workflow.stages.deploy.subject import Subject
from trellis_contracts.deployment import DEPLOYING, RETREATED, SERVING, Deployment


class DeploymentHooks:
    """Hooks for operators (`pre_execute`, `post_execute`, `on_failure_callback`)."""

    def __init__(self, subject: Subject):
        self._subject = subject

    def record(self, context: Any) -> Record:
        return Record(self._subject.platform, self._run(context))

    def keep_requests(self, context: Any) -> None:
        """Make the table for a sample of the requests, before `endpoint`, if one is asked for."""
        requests_table.create(self._subject.experiment, self._subject.platform)

    def begin(self, context: Any, result: Any) -> None:
        """Record the start of the deployment, after `endpoint`. One that has ended, and whose model
        is still the champion, does not start again: a task that is cleared finds all done.
        """
        model = left.returned(context["ti"], "deploy.register", "version")["name"]
        record = self.record(context)
        found = record.find()
        endpoint = result["endpoint"]
        if found and (found.model, found.endpoint) == (model, endpoint) and self._serves(found):
            # Whoever clears this task accepts the share that a person has set.
            _, share = self._current().deployed(endpoint, model)
            record.change(reason=None, share=share)
            return
        challenger = self._subject.challenger(context)
        record.begin(challenger.contender, endpoint, model, self._before(model))

    def unchanged(self, context: Any) -> None:
        """Check, before a step and after its hold, that no person and no other DAG has changed the
        champion or the traffic meanwhile; else raise AirflowFailException: this run does not
        override that.
        """
        content = self.record(context).read()
        if change := self._foreign_change(content):
            raise AirflowFailException(
                f"Stopped: {change} since this run's last step. That change is kept; to deploy "
                "this run's model nevertheless, clear deploy.endpoint and the tasks after it."
            )

    def complete(self, context: Any) -> None:
        """Check, before the challenger becomes champion, that it has all requests."""
        self.unchanged(context)
        content = self.record(context).read()
        _, share = self._current().deployed(content.endpoint, content.model)
        if share != 100:
            raise AirflowFailException(
                f"Stopped: {content.model} has {share}% of the requests, not all, so it does "
                "not become the champion."
            )

    def stepped(self, context: Any, result: Any) -> None:
        """Record a step that gave the challenger a share, or tested it."""
        record = self.record(context)
        content = record.read()
        _, share = self._current().deployed(content.endpoint, content.model)
        details = result if isinstance(result, dict) and "examples" in result else {}
        # A step of a champion that is cleared leaves it one: `unchanged` has looked.
        state = SERVING if content.state == SERVING else DEPLOYING
        changes: dict[str, Any] = {"state": state, "share": share, "reason": None}
        if content.state == RETREATED:
            changes["previous"] = self._before(content.model)
        record.step(_name(context), {"share": share, **details}, **changes)

    def promoted(self, context: Any, result: Any) -> None:
        """Record the move of the alias."""
        details = {"version": result["version"], "previous": result["previous"]}
        self.record(context).step(_name(context), details, state=SERVING, reason=None)

    def cleaned_up(self, context: Any, result: Any) -> None:
        """Record the removal of unused models and versions."""
        self.record(context).step(_name(context), result)

    def deployed_anything(self, context: Any) -> None:
        """Check, before `retreat`, that there is something to undo. Raises AirflowSkipException if
        nothing was deployed, or the deployed version has become the champion and nothing was tried
        since: a run that is cleared later may fail before its deployment, at `promote`, and its
        version may be kept, or serve.
        """
        if not context["task"].model or not context["task"].endpoint_id:
            raise AirflowSkipException("Nothing was deployed: there is nothing to take back.")
        found = self.record(context).find()
        if found is not None and found.state == SERVING and not _tried(context):
            raise AirflowSkipException(
                f"{found.model} became the champion before, and this deployment did not begin "
                "again: nothing is taken back."
            )

    def retreated(self, context: Any, result: Any) -> None:
        """Record the end of `retreat`; the reason was recorded when the step failed."""
        record = self.record(context)
        if result["champion"] == record.read().model.rpartition("@")[2]:
            # It became the champion before something failed: it stays.
            record.step(_name(context), {"traffic": result["traffic"]}, state=SERVING)
        else:
            record.step(_name(context), {"traffic": result["traffic"]}, state=RETREATED, share=0)

    def failed(self, context: Any) -> None:
        """Record a step that failed for good."""
        why = context.get("exception") or "its process was lost; Airflow says no more"
        record = self.record(context)
        # Before `endpoint` there is no record to write to.
        if record.find() is not None:
            record.change(reason=f"{_name(context)}: {why}")

    def _serves(self, content: Deployment) -> bool:
        """Return whether this run's deployment has ended, and its model is still the champion."""
        champion = self._current().version_with(content.model, CHAMPION)
        return content.state == SERVING and champion == content.model

    def _before(self, model: str) -> str | None:
        """The champion that the version replaces, or has replaced."""
        current = self._current()
        champion = current.version_with(model, CHAMPION)
        return current.version_with(model, PREVIOUS) if champion == model else champion

    def _foreign_change(self, content: Deployment) -> str | None:
        """Return a change by someone else; None if there is none."""
        current = self._current()
        champion = current.version_with(content.model, CHAMPION)
        ours = [content.model] if content.state == SERVING else [content.model, content.previous]
        if champion not in ours:
            return f"{champion or 'no version'} became the champion"
        if content.state == RETREATED:
            return None
        _, share = current.deployed(content.endpoint, content.model)
        if share < content.share:
            return f"the share of {content.model} went from {content.share}% to {share}%"
        return None

    def _run(self, context: Any) -> layout.Run:
        return self._subject.run(context["run_id"])

    def _current(self) -> CurrentState:
        return CurrentState(self._subject.platform)


def _tried(context: Any) -> bool:
    """Return whether a step before this task failed itself, and not for want of an earlier one."""
    ti, steps = context["ti"], context["task"].upstream_task_ids
    states = ti.get_task_states(dag_id=ti.dag_id, task_ids=sorted(steps), run_ids=[ti.run_id])
    return "failed" in states.get(ti.run_id, {}).values()


def _name(context: Any) -> str:
    return context["ti"].task_id.rpartition(".")[2]

"""What the tasks of a deployment do before and after their operators: check that nobody else has
changed what they build on, and write down what was done.
"""

import contextlib
from typing import Any

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from research import layout
from research.experiment import Experiment
from research.platform import Platform
from research.registry_names import CHAMPION, PREVIOUS
from research.stages.deploy.record import DEPLOYING, RETREATED, SERVING, Record


class Diary:
    """Hooks for operators (`pre_execute`, `post_execute`, `on_failure_callback`)."""

    def __init__(self, experiment: Experiment, platform: Platform):
        self._experiment = experiment
        self._platform = platform

    def record(self, context: Any) -> Record:
        folder = layout.run_folder(context["run_id"], self._experiment.generation)
        run = layout.Run(self._platform.bucket, self._experiment.name, folder)
        return Record(self._platform, run)

    def begin(self, context: Any, result: Any) -> None:
        """After `endpoint`: a deployment begins."""
        ti = context["ti"]
        model = ti.xcom_pull(task_ids="deploy.register")["name"]
        contender = ti.xcom_pull(task_ids="deploy.prepare")["contender"]
        before = self._before(model)
        self.record(context).begin(contender, result["endpoint"], model, before)

    def unchanged(self, context: Any) -> None:
        """Before a step, and when its wait is over. Raises AirflowFailException if a person, or
        another DAG, has put another version in charge meanwhile: this run does not fight it.
        """
        content = self.record(context).read()
        if stranger := self._stranger(content):
            raise AirflowFailException(
                f"Stopped: {stranger} since this run's last step. What was done there stays; to "
                "deploy this run's model nevertheless, clear deploy.endpoint and what follows."
            )

    def complete(self, context: Any) -> None:
        """Before the challenger becomes champion: it must have all requests."""
        self.unchanged(context)
        content = self.record(context).read()
        _, share = self._look().deployed(content["endpoint"], content["model"])
        if share != 100:
            raise AirflowFailException(
                f"Stopped: {content['model']} has {share}% of the requests, not all, so it does "
                "not become the champion."
            )

    def stepped(self, context: Any, result: Any) -> None:
        """After a step that gave the challenger a share, or tested it."""
        record = self.record(context)
        content = record.read()
        _, share = self._look().deployed(content["endpoint"], content["model"])
        details = result if isinstance(result, dict) and "examples" in result else {}
        changes = {"state": DEPLOYING, "share": share, "reason": None}
        if content["state"] == RETREATED:
            changes["previous"] = self._before(content["model"])
        record.step(_name(context), {"share": share, **details}, **changes)

    def crowned(self, context: Any, result: Any) -> None:
        """After the alias has moved."""
        details = {"version": result["version"], "previous": result["previous"]}
        self.record(context).step(_name(context), details, state=SERVING, reason=None)

    def tidied(self, context: Any, result: Any) -> None:
        """After what has no use any more was removed."""
        self.record(context).step(_name(context), result)

    def deployed_anything(self, context: Any) -> None:
        """Before `retreat`. Raises AirflowSkipException where there is nothing to take back."""
        if not context["task"].model or not context["task"].endpoint:
            raise AirflowSkipException("Nothing was deployed: there is nothing to take back.")

    def retreated(self, context: Any, result: Any) -> None:
        """After `retreat`; the reason was written down when the step failed."""
        record = self.record(context)
        if result["champion"] == record.read()["model"].rpartition("@")[2]:
            # It had become the champion when something failed: it stays.
            record.step(_name(context), {"traffic": result["traffic"]}, state=SERVING)
        else:
            record.step(_name(context), {"traffic": result["traffic"]}, state=RETREATED, share=0)

    def failed(self, context: Any) -> None:
        """When a step has failed for good."""
        from google.cloud.exceptions import NotFound

        why = context.get("exception") or "its process was lost; Airflow says no more"
        # Before `endpoint` there is nothing to write it down in.
        with contextlib.suppress(NotFound):
            self.record(context).change(reason=f"{_name(context)}: {why}")

    def _before(self, model: str) -> str | None:
        """The champion that the version takes over from, or has taken over from."""
        look = self._look()
        champion = look.bearer(model, CHAMPION)
        return look.bearer(model, PREVIOUS) if champion == model else champion

    def _stranger(self, content: dict[str, Any]) -> str | None:
        """What somebody else has changed, None if nothing."""
        look = self._look()
        champion = look.bearer(content["model"], CHAMPION)
        ours = (
            [content["model"]]
            if content["state"] == SERVING
            else [content["model"], content["previous"]]
        )
        if champion not in ours:
            return f"{champion or 'no version'} became the champion"
        if content["state"] == RETREATED:
            return None
        _, share = look.deployed(content["endpoint"], content["model"])
        if share < content["share"]:
            return f"the share of {content['model']} went from {content['share']}% to {share}%"
        return None

    def _look(self) -> Any:
        from research.stages.deploy.look import Look

        return Look(self._platform)


def _name(context: Any) -> str:
    return context["ti"].task_id.rpartition(".")[2]

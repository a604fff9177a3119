"""promote: apply the comparison's decision: start the deployment, or skip it.

The comparison evaluated the gate; leaderboard.json has the decision and its reasons. This stage
checks that they still hold for what is served now. A run that promotes nothing is a success.
"""

from collections.abc import Iterator
from typing import Any

from trellis.workflow.contracts import layout
from trellis.workflow.pricing import cost
from trellis.workflow.spec.deployment import Gate
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.stage import Row, Stage
from trellis_contracts.leaderboard import Leaderboard, Promotion
from trellis_contracts.metrics import METRICS, parted
from trellis_contracts.served import Served


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns the decision, as leaderboard.json has it."""
    from trellis.workflow.stages.operators import PromoteOperator

    def decided(context: Any) -> dict[str, Any]:
        return decide(experiment, platform, context["run_id"])

    return PromoteOperator(task_id="promote", decide=decided)


def decide(experiment: Experiment, platform: Platform, run_id: str) -> dict[str, Any]:
    """The comparison's decision, printed, if it still holds.

    Raises AirflowSkipException if the run deploys nothing, AirflowFailException if something else
    is served by now.
    """
    from airflow.sdk.exceptions import AirflowSkipException

    from trellis.workflow.contracts.run_params import NOT_DEPLOYED
    from trellis.workflow.lookups import documents

    run = layout.Run.of(experiment, platform, run_id)
    decision = documents.read_file(platform, Leaderboard, run.leaderboard).promotion
    if decision is None:
        raise AirflowSkipException(f"This run deploys nothing: {NOT_DEPLOYED}.")
    for line in summary(decision):
        print(line)
    if decision.promoted:
        check_served(platform, run, decision)
        print(f"Serving costs {cost.serving(experiment, platform.region)}.")
    else:
        check_none_halfway(platform, run)
    return decision.to_document()


def summary(decision: Promotion) -> list[str]:
    """The decision and its reasons, in lines."""
    who = decision.challenger or "No contender"
    verb = "is promoted" if decision.promoted else "is not promoted"
    lines = [f"{who} {verb}: {decision.reason}"]
    for check in decision.checks:
        mark = "passed" if check.passed else "FAILED"
        lines.append(f"  {mark}: {check.check} ({check.detail})")
    return lines


def check_none_halfway(platform: Platform, run: layout.Run) -> None:
    """Raises AirflowFailException if this run left a model between canary and champion.

    This happens if a training was cleared during its model's deployment, and the new comparison
    promotes nothing: then the tasks that would continue or undo the deployment are skipped.
    """
    from airflow.sdk.exceptions import AirflowFailException

    from trellis.workflow.lookups import endpoint

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


def check_served(platform: Platform, run: layout.Run, decision: Promotion) -> None:
    """Raises AirflowFailException if the challenger was compared with a model no longer served."""
    from airflow.sdk.exceptions import AirflowFailException

    if change := served_instead(platform, run, decision):
        raise AirflowFailException(
            f"{change}. Clear `served` and the tasks after it to compare again with what is served "
            "then."
        )


def served_instead(platform: Platform, run: layout.Run, decision: Promotion) -> str | None:
    """Say what is served now in place of the model that the challenger was compared with, without a
    full stop; None if nothing has changed.

    Ignores what this run deployed itself, perhaps partly.
    """
    from trellis.workflow.lookups import endpoint

    found = endpoint.find(platform, run)
    before = found.before if found else None
    now = before.name if before else None
    scored = decision.served.model if decision.served else None
    deployed = found is not None and any(version.own for version in found.versions)
    if now == scored or (now is None and deployed):
        return None
    if _same_files(platform, run, scored, before.artifact_uri if before else None):
        return None
    return (
        f"The challenger was compared with {scored or 'nothing, as nothing was served'}, but "
        f"now {now or 'nothing'} is served"
    )


def _same_files(platform: Platform, run: layout.Run, scored: str | None, now: str | None) -> bool:
    """Return whether the version that is served now has the files of the one that was scored: the
    DAG EXPERIMENT-reserve has registered it once more. now: its files.
    """
    from trellis.workflow.lookups import documents

    before = documents.find_file(platform, Served, run.served)
    if before is None or before.model != scored or not before.artifact_uri or not now:
        return False
    return before.artifact_uri.rstrip("/") == now.rstrip("/")


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    deploy = experiment.deployment
    gate = _gate(deploy.gate, experiment.hurdles)
    who = "the selected training"
    if deploy.services:
        who = f"the first of the leaderboard that may be deployed ({', '.join(deploy.allow)})"
    yield (
        "promote",
        f"goes on if {who} meets the gate ({gate}); otherwise the run ends green and the served "
        "model stays",
    )


def _gate(gate: Gate, baselines: int) -> str:
    """Describe the conditions that the challenger must meet."""
    bound = {"maximize": "at least", "minimize": "at most"}
    conditions = [
        f"{name} {bound[METRICS[parted(name)[0]].goal]} {value}"
        for name, value in gate.require.items()
    ]
    if gate.beat == "baselines" and baselines:
        conditions.append("better than every baseline")
    if gate.improvement is not None:
        conditions.append("better than the served model")
    elif gate.tolerance is not None:
        conditions.append("no worse than the served model")
    return ", ".join(conditions) or "it was scored"


STAGE = Stage(
    name="promote",
    where="Airflow",
    when=lambda experiment: experiment.deploy is not None,
    tasks=lambda dag: task(dag.experiment, dag.platform),
    page=_page,
    advice={
        "promote": "The served model is unchanged, and the leaderboard exists. Follow the message."
    },
    ends_run=["promote"],
)

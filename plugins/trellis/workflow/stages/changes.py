"""changes: compare the run's dataset with the last one that a run trained on, before it is used.

Beyond the limits of `source.changes` the run is warned of, or refused: by then only the export has
cost anything. A dataset that a run has trained on before is not compared again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import change_checks
from trellis.workflow.stages.stage import Row, Stage
from trellis_contracts.changes import DatasetChanges
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.finding import Finding
from trellis_contracts.withheld import for_log, shown, withheld


def task(experiment: Experiment, platform: Platform, tell: Callable[[Any, str], None]) -> Any:
    """The Airflow task. Returns the number of findings.

    tell: sends a message to people; called with the context and the text.
    """
    from airflow.sdk.exceptions import AirflowFailException

    from trellis.workflow.lookups import documents, plans
    from trellis.workflow.stages.function_operator import function_task

    # The export is skipped if its dataset exists.
    @function_task(task_id="changes", trigger_rule="none_failed")
    def changes(run_id=None, **context):
        plan = plans.load(experiment, platform, run_id)
        findings, remark = compare(plan, platform)
        limits = plan.experiment.source.changes
        whole = tuple(replace(finding, text=shown(finding.text)) for finding in findings)
        found = DatasetChanges(plan.dataset.previous, remark, limits.model_dump(), whole)
        documents.write_file(platform, plan.run.changes, found)
        if remark:
            print(f"Not compared with an earlier dataset: {remark}.")
            return 0
        print(f"Compared with {plan.dataset.previous}, the last dataset that a run trained on:")
        texts = [finding.text for finding in findings] or ["no change is beyond its limit."]
        # changes.json has the whole texts.
        texts = for_log(texts, lambda _: plan.run.changes)
        if findings and limits.beyond == "refuse":
            raise AirflowFailException(refusal(plan, texts))
        for text in texts:
            print(f"  {'Warning: ' if findings else ''}{text}")
        if findings:
            warnings = [withheld(finding.text) for finding in findings]
            tell({**context, "run_id": run_id}, message(plan, run_id, warnings))
        return len(findings)

    return changes()


def compare(plan: Plan, platform: Platform) -> tuple[list[Finding], str | None]:
    """List the changes beyond the limits, or say why nothing was compared."""
    from airflow.sdk.exceptions import AirflowFailException

    from trellis.workflow.lookups import documents, records

    if plan.dataset.previous is None:
        return [], "no run of this experiment has trained on one"
    # A run that is cleared keeps its findings: its own result does not count.
    used = records.trained_on(platform, plan.experiment.name, without=plan.run.folder)
    if plan.dataset.fingerprint in used:
        return [], "a run has trained on this one before"
    where = layout.dataset_mark(plan.dataset.previous)
    try:
        earlier = documents.find_file(platform, DatasetDescription, where)
    except AirflowFailException:
        earlier = None
    if earlier is None:
        return [], f"{where} was deleted, or written by another version of Trellis"
    now = layout.dataset_mark(plan.dataset.uri)
    current = documents.read_file(platform, DatasetDescription, now)
    return change_checks.judge(earlier, current, plan.experiment.source.changes), None


def message(plan: Plan, run_id: str, warnings: Sequence[str]) -> str:
    """What people are told of a dataset that is beyond a limit."""
    return "\n".join(
        [
            f"TRELLIS WARNING: {plan.experiment.name} is beyond the limits of source.changes",
            f"Run: {run_id}. Dataset: {plan.dataset.uri}, compared with {plan.dataset.previous}",
            *warnings,
            f"What to do: the run goes on. {plan.run.changes} has the values. Where the data are "
            "wrong, mark the run as failed and correct them; `beyond: refuse` stops the next one.",
        ]
    )


def refusal(plan: Plan, texts: list[str]) -> str:
    """Message of a refusal: the problems, and what to do."""
    from trellis.workflow.contracts.run_params import ACCEPT_CHANGES

    return "\n  ".join(
        [
            f"The dataset of this run ({plan.dataset.uri}) is too far from {plan.dataset.previous},"
            " the last one that a run trained on (source.changes):",
            *texts,
        ]
    ) + (
        "\nNothing was spent on training. If the data are wrong, correct them. If they are right, "
        f"trigger a run with `{ACCEPT_CHANGES}`: later datasets are then compared with this one. "
        "Or raise the limit in the experiment file."
    )


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    does = {"warn": "warns of", "refuse": "refuses"}[experiment.source.changes.beyond]
    what = f"compares the dataset with the last one trained on; {does} what is beyond a limit"
    yield "changes", what


STAGE = Stage(
    name="changes",
    where="Airflow",
    writes=["changes.json"],
    tasks=lambda dag: task(dag.experiment, dag.platform, dag.tell),
    page=_page,
    advice={
        "changes": "Nothing was spent on training, and the served model is unchanged. Correct the "
        "data, or trigger a run with `accept_changes`. Later data are not compared with these."
    },
)

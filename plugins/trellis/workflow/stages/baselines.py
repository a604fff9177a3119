"""baselines: a baseline.json for each baseline of the run, successful or not.

A failed baseline stops neither this task nor the run: the leaderboard shows it as failed.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import automl
from trellis.workflow.stages.stage import Building, Row, Stage
from trellis_contracts.baseline import Baseline
from trellis_contracts.layout import FILE_BASELINE, baseline_file


def task(experiment: Experiment, platform: Platform, ready: str) -> Any:
    """The Airflow task. `ready`: id of the task that the baselines wait for. Returns the statuses
    by name: the comparison runs again when one has changed.
    """
    from airflow.sdk.exceptions import AirflowSkipException

    from trellis.workflow.lookups import documents, plans
    from trellis.workflow.stages.function_operator import function_task

    @function_task(task_id="baselines", trigger_rule="all_done")
    def baselines(ti=None, run_id=None):
        if not _had_rows(ti, ready):
            raise AirflowSkipException(f"The baselines did not start: '{ready}' did not succeed.")
        plan = plans.load(experiment, platform, run_id)
        if not plan.baselines:
            raise AirflowSkipException("This run has no baselines.")
        statuses = {}
        folds = plan.experiment.folds
        for name in plan.baselines:
            for n, part in enumerate(folds.parts if folds else [None]):
                found = record(plan, platform, name, ti, part, n if folds else -1)
                run = plan.run if part is None else plan.part(part).run
                documents.write_file(platform, baseline_file(run.baseline(name)), found)
                title = f"{name}, fold {part}" if part else name
                statuses[title] = found.status
                print(f"{title}: {found.status}{_because(found.reason)}")
                for warning in found.warnings:
                    print(f"{title}: {warning}")
        return statuses

    return baselines()


def _had_rows(ti: Any, ready: str) -> bool:
    """Return whether the task that the baselines wait for let them start.

    The trigger rule all_done, which makes this task run after failed baselines, also makes it run
    after a refusal.
    """
    states = ti.get_task_states(dag_id=ti.dag_id, task_ids=[ready], run_ids=[ti.run_id])
    return states.get(ti.run_id, {}).get(ready) in ("success", "skipped")


def record(
    plan: Plan, platform: Platform, name: str, ti: Any, part: str | None = None, copy: int = -1
) -> Baseline:
    """The baseline.json of one, from the service's records of the task's jobs. part, copy: the fold
    that it learned in, and the map index of its task.
    """
    from trellis.workflow.stages import baseline_results

    baseline = Baseline(
        name=name,
        kind=name.partition("-")[0],
        features_left_out=_left_out(plan, name),
    )
    try:
        if name == automl.NAME:
            found = baseline_results.automl(plan, platform, ti)
        elif name.startswith(FILE_BASELINE):
            found = baseline_results.of_file(plan, platform, name)
        else:
            kind = name.removeprefix("bqml-")
            found = baseline_results.bqml(plan, platform, kind, ti, part, copy)
    except baseline_results.BaselineFailedError as error:
        return replace(baseline, reason=str(error))
    except Exception as error:  # any error: the run goes on without this baseline
        why = f"it could not be looked at: {type(error).__name__}: {error}"
        return replace(baseline, reason=why)
    return replace(baseline, status="succeeded", **found)


def _left_out(plan: Plan, name: str) -> tuple[str, ...]:
    """Features that the service cannot take; what a file's model took, nobody knows."""
    of_images = name == "automl" and plan.experiment.source.automl == "image"
    if of_images or name.startswith(FILE_BASELINE):
        return ()
    return tuple(plan.table.left_out())


def _because(reason: str | None) -> str:
    return f", {reason}" if reason else ""


def waits_for(experiment: Experiment) -> str:
    """Name the stage after which baselines may learn from the rows: those of a table have passed
    their checks, and no change of the dataset may refuse the run. AutoML takes the images that
    the export took.
    """
    changes = experiment.source.changes.beyond == "refuse"
    return "changes" if experiment.source.automl == "image" or changes else "check"


def _tasks(dag: Building) -> Any:
    return task(dag.experiment, dag.platform, waits_for(dag.experiment))


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    names = [f"BigQuery ML {name}" for name in experiment.baselines.bqml]
    if experiment.baselines.automl:
        names.append(f"AutoML, at most {experiment.baselines.automl.node_hours:g} node hours")
    names += [f"the predictions {name}" for name in experiment.baselines.files]
    what = ", ".join(names)
    yield "baselines", f"{what}; if one fails, the leaderboard shows it and the run goes on"


STAGE = Stage(
    name="baselines",
    where="Airflow",
    writes=["baselines/NAME/"],
    when=lambda experiment: experiment.baselines.count > 0,
    tasks=_tasks,
    page=_page,
    advice={"baselines": "The baselines are safe. Clear this task; the comparison follows."},
)

"""The page of an experiment's DAG in the UI: purpose, owner, cost, and what to do at night."""

from collections.abc import Iterable

from trellis.workflow.pricing.cost import Cost, serving
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.quantities import usd_text
from trellis.workflow.stages import costs
from trellis.workflow.stages.stage import Stage

_PAGE = """\
{about}

**Owner** {owner} · **Schedule** {schedule} · **Budget** {budget} per run; {cost}

| stage | what it does |
|---|---|
{rows}
[All runs, their scores and what was served](trellis/experiments/{dag}). The files of each run are
in `gs://{bucket}/{name}/runs/RUN/`. A triggered run may use other numbers
than those above: the trigger form explains them.
{serving}
### When it fails at night

It can wait until the morning: every job has a timeout, and the run stays within its budget.{calm}

1. Open the log of the red task. Its last lines (`TRELLIS FAILURE`) name the cause, the job's page
   in the Google Cloud console, and what to do.
2. *Clear* the task to run it again. Finished work costs nothing: the task adopts a job that
   succeeded or is still running, and replaces one that failed.
3. To repeat work that succeeded, trigger a new run; or increase `generation` in `{name}.yaml` and
   clear the whole run.

`trellis reference` lists every key of the file with its meaning, bounds and default.
"""

_SERVING = """
### What is served

The endpoint `{name}` ({kind}, {region}) serves the version `champion` of the model `{name}`.
**Serving costs {cost}**, beyond the budget of any run, until the model is undeployed.

To return to an earlier version, trigger the DAG `{rollback}` for this experiment. To stop serving,
undeploy the endpoint's models in the Google Cloud console, and remove `deploy` from the file or
switch it off: otherwise the next promoted run deploys again.
"""


def page(experiment: Experiment, platform: Platform, stages: Iterable[Stage], limit: Cost) -> str:
    """The DAG's doc_md."""
    rows = [
        f"| {name} | {what} |\n"
        for stage in costs.of(stages, experiment)
        for name, what in stage.page(experiment, platform)
    ]
    return _PAGE.format(
        about=experiment.about.replace("\n", " "),
        name=experiment.name,
        dag=platform.dag_id(experiment.name),
        owner=experiment.owner,
        schedule=f"`{experiment.schedule}`",
        budget=usd_text(experiment.budget),
        cost=limit,
        rows="".join(rows),
        bucket=platform.bucket,
        serving=_serving(experiment, platform),
        calm=" A failed deployment restores what was served." if experiment.deploy else "",
    )


def _serving(experiment: Experiment, platform: Platform) -> str:
    if experiment.deploy is None:
        return ""
    return _SERVING.format(
        name=experiment.name,
        rollback=platform.dag_id("rollback"),
        kind="private" if experiment.deploy.private else "public",
        region=platform.region,
        cost=serving(experiment, platform.region),
    )

"""The page of an experiment's DAG in the UI: purpose, owner, cost, and what to do at night."""

from trellis.workflow.pricing.cost import Cost, serving
from trellis.workflow.spec.deployment import Gate
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import TrainingMachines
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.quantities import duration_text, usd_text
from trellis.workflow.spec.source import ImageSource, TableSource
from trellis.workflow.stages.tune import task_id
from trellis_contracts.metrics import METRICS

_PAGE = """\
{about}

**Owner** {owner} · **Schedule** {schedule} · **Budget** {budget} per run; {cost}

| stage | what it does |
|---|---|
| plan | checks source, parameters and cost; refuses the run before anything is spent |
{rows}| export | writes {source} as TFRecords (Dataflow); skipped if this dataset exists already |
| changes | compares the dataset with the last one trained on; {changes} what is beyond a limit |
{tuning}| train | trains {trained} for up to {epochs} epochs on {workers} (Vertex AI) |
{others}| compare | scores all on one test split: `leaderboard.json`, `report.html` (Vertex AI) |
{deployment}| result | names the winner{became}; fails if a training is not on the leaderboard |

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

_TUNING = """\
| tune | runs {trials} trials of {epochs} epochs, {parallel} at a time, to {goal} {metric} |
| choose | selects the best {top} of the trials that succeeded{each} |
"""

_REUSE = """\
| tune, train, repeat | without a job if a finished run has done the same: copied from there |
"""

_ROWS = """\
| snapshot, check | freezes the run's rows in BigQuery; refuses rows that cannot be learned from |
| extract | writes the snapshot as Parquet files (BigQuery) |
"""


_DEPLOYMENT = """\
| served | finds the served model, so that it is compared too |
| promote | goes on if the best training meets the gate ({gate}); otherwise the run ends green and \
the served model stays |
| deploy | adds a version to the model `{name}` and sends it {canary} of the requests; each \
step ends with a test on {examples} rows{hold}; a step that fails is undone |
"""

_SERVING = """
### What is served

The endpoint `{name}` ({kind}, {region}) serves the version `champion` of the model `{name}`.
**Serving costs {cost}**, beyond the budget of any run, until the model is undeployed.

To return to an earlier version, trigger the DAG `{rollback}` for this experiment. To stop serving,
undeploy the endpoint's models in the Google Cloud console, and remove `deploy` from the file or
switch it off: otherwise the next promoted run deploys again.
"""


def page(experiment: Experiment, platform: Platform, limit: Cost) -> str:
    """The DAG's doc_md."""
    train = experiment.train
    one = f"one model with the file's hyperparameters, to {experiment.goal} {experiment.metric},"
    return _PAGE.format(
        about=experiment.about.replace("\n", " "),
        name=experiment.name,
        dag=platform.dag_id(experiment.name),
        owner=experiment.owner,
        schedule=f"`{experiment.schedule}`",
        budget=usd_text(experiment.budget),
        cost=limit,
        source=_source(experiment, platform),
        rows="" if experiment.source.kind == "image" else _ROWS,
        changes={"warn": "warns of", "refuse": "refuses"}[experiment.source.changes.beyond],
        others=_repeats(train.seeds)
        + (_REUSE if experiment.reuse else "")
        + _baselines(experiment),
        tuning=_tuning(experiment),
        trained="each of them" if experiment.tune else one,
        epochs=train.epochs,
        workers=_workers(train.machines),
        bucket=platform.bucket,
        deployment=_deployment(experiment),
        became=" and reports its deployment" if experiment.deploy else "",
        serving=_serving(experiment, platform),
        calm=" A failed deployment restores what was served." if experiment.deploy else "",
    )


def _workers(machines: TrainingMachines) -> str:
    beside = ""
    if servers := machines.parameter_servers:
        beside = f" and {servers.count} parameter server(s)"
    elif reducers := machines.reduction_servers:
        beside = f" and {reducers.count} reduction server(s)"
    return f"{machines.workers} worker(s){beside}"


def _tuning(experiment: Experiment) -> str:
    tune = experiment.tune
    if tune is None:
        return ""
    others = [name for name, one in experiment.by_model.items() if name and one.tune is not None]
    beside = "".join(f"| {task_id(name)} | the same for the model {name} |\n" for name in others)
    return beside + _TUNING.format(
        trials=tune.trials,
        epochs=tune.epochs,
        parallel=tune.parallel,
        goal=tune.goal,
        metric=tune.metric,
        top=experiment.train.top,
        each=" of each model" if experiment.other_models else "",
    )


def _repeats(seeds: int) -> str:
    if seeds == 1:
        return ""
    what = f"trains the best one again with {seeds - 1} other seed(s) (Vertex AI)"
    return f"| select, repeat | {what} |\n"


def _deployment(experiment: Experiment) -> str:
    deploy = experiment.deploy
    if deploy is None:
        return ""
    hold = f" and a pause of {duration_text(deploy.hold)}" if deploy.hold else ""
    steps = ", ".join(f"{share}%" for share in deploy.canary)
    return _DEPLOYMENT.format(
        name=experiment.name,
        gate=_gate(deploy.gate, experiment.baselines.count),
        canary=steps,
        examples=deploy.smoke.examples,
        hold=hold,
    )


def _gate(gate: Gate, baselines: int) -> str:
    """Describe the conditions that the selected training must meet."""
    bound = {"maximize": "at least", "minimize": "at most"}
    conditions = [f"{m} {bound[METRICS[m].goal]} {value}" for m, value in gate.require.items()]
    if gate.beat == "baselines" and baselines:
        conditions.append("better than every baseline")
    if gate.improvement is not None:
        conditions.append("better than the served model")
    elif gate.tolerance is not None:
        conditions.append("no worse than the served model")
    return ", ".join(conditions) or "it was scored"


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


def _source(experiment: Experiment, platform: Platform) -> str:
    source = experiment.source
    if isinstance(source, ImageSource):
        return f"`{platform.uri(source.images)}`"
    if isinstance(source, TableSource):
        return f"`{platform.table(source.bigquery)}`"
    return "the rows of a query"


def _baselines(experiment: Experiment) -> str:
    names = [f"BigQuery ML {name}" for name in experiment.baselines.bqml]
    if experiment.baselines.automl:
        names.append(f"AutoML, at most {experiment.baselines.automl.node_hours:g} node hours")
    if not names:
        return ""
    what = ", ".join(names)
    return f"| baselines | {what}; if one fails, the leaderboard shows it and the run goes on |\n"

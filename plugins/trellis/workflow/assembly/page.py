"""A DAG's page in the Airflow UI: what it does, whose it is, what it costs, what to do at night."""

from research.cost import Cost, serving
from research.experiment import Experiment
from research.platform import Platform
from research.quantities import duration_text, usd_text
from research.trainer_schema import load as load_schema

_PAGE = """\
{about}

**Owner** {owner} · **Schedule** {schedule} · **Budget** {budget} a run; {cost}

| stage | what it does |
|---|---|
| plan | checks source, parameters and cost; refuses before anything is spent |
{rows}| export | {source} as TFRecords (Dataflow); skipped when this dataset is there already |
| tune | {trials} trials of {tune_epochs} epochs, {parallel} at a time: {goal} {metric} |
| choose | the best {top} of the trials that succeeded |
| train | each of them for up to {train_epochs} epochs on {workers} worker(s) (Vertex AI) |
{baselines}| compare | all on one test split: `leaderboard.json`, `report.html` (Vertex AI) |
{deployment}| result | says who won{became}; fails if a training is missing from the leaderboard |

Every run's files are below `gs://{bucket}/{name}/runs/`. A triggered run may change the numbers
above: the form explains them.
{serving}
### When it fails at night

Nothing burns: every job has a timeout, and the whole run stays below its budget.{calm} It can wait
until the morning.

1. Open the red task's log. Its last lines (`TRELLIS FAILURE`) name the cause, the job's page in
   Google's console, and what to do.
2. *Clear* a task to run it again. Clearing is free where the work is done: a job that succeeded, or
   still runs, is adopted. A job that failed is replaced.
3. Clearing cannot repeat a success. For that, trigger a new run; or raise `generation` in
   `{name}.yaml` and clear the whole run.

Parameters, bounds and defaults of the file: `python -m research reference`.
"""

_ROWS = """\
| snapshot, check | the run's rows frozen in BigQuery; refused if nothing can be learned of them |
| extract | the snapshot as Parquet files, by BigQuery |
"""


_DEPLOYMENT = """\
| served | looks which model is served, so that it is compared too |
| promote | only if the best is {gate}; else what is served stays, and the run is green |
| deploy | a version of the model `{name}`, and {canary} of the requests to it; each step after a \
test with {examples} rows{hold}; what fails is taken back |
"""

_SERVING = """
### What is served

The endpoint `{name}` ({kind}, {region}) serves the version `champion` of the model `{name}`.
**Serving costs {cost}**: it is no part of a run's budget, and ends when the model is undeployed.

To put an earlier version back, trigger the DAG `rollback` with this experiment's name. To serve no
more, undeploy the endpoint's models in Google's console; the next promoted run would deploy again,
unless `deploy` is switched off or taken out of the file.
"""


def page(experiment: Experiment, platform: Platform, limit: Cost) -> str:
    """The DAG's doc_md."""
    tune, train = experiment.tune, experiment.train
    return _PAGE.format(
        about=experiment.about.replace("\n", " "),
        name=experiment.name,
        owner=experiment.owner,
        schedule=f"`{experiment.schedule}`",
        budget=usd_text(experiment.budget),
        cost=limit,
        source=_source(experiment, platform),
        rows="" if experiment.source.kind == "image" else _ROWS,
        baselines=_baselines(experiment),
        trials=tune.trials,
        tune_epochs=tune.epochs,
        parallel=tune.parallel,
        goal=tune.goal,
        metric=tune.metric,
        top=train.top,
        train_epochs=train.epochs,
        workers=train.machines.workers,
        bucket=platform.bucket,
        deployment=_deployment(experiment),
        became=" and what became of it" if experiment.deploy else "",
        serving=_serving(experiment, platform),
        calm=" A deployment that fails puts back what was served." if experiment.deploy else "",
    )


def _deployment(experiment: Experiment) -> str:
    deploy = experiment.deploy
    if deploy is None:
        return ""
    hold = f" and {duration_text(deploy.hold)} of watching" if deploy.hold else ""
    steps = ", ".join(f"{share}%" for share in deploy.canary)
    return _DEPLOYMENT.format(
        name=experiment.name,
        gate=_gate(experiment),
        canary=steps,
        examples=deploy.smoke.examples,
        hold=hold,
    )


def _gate(experiment: Experiment) -> str:
    """What the best training has to be."""
    gate, metrics = experiment.deploy.gate, load_schema().metrics
    bound = {"maximize": "at least", "minimize": "at most"}
    asked = [f"of {m} {bound[metrics[m]['goal']]} {value}" for m, value in gate.require.items()]
    if gate.beat == "baselines" and experiment.baselines.count:
        asked.append("better than every baseline")
    if gate.tolerance is not None:
        asked.append("no worse than the model that is served")
    return ", ".join(asked) or "scored"


def _serving(experiment: Experiment, platform: Platform) -> str:
    if experiment.deploy is None:
        return ""
    return _SERVING.format(
        name=experiment.name,
        kind="private" if experiment.deploy.private else "public",
        region=platform.region,
        cost=serving(experiment),
    )


def _source(experiment: Experiment, platform: Platform) -> str:
    source = experiment.source
    if source.images is not None:
        return f"`{platform.uri(source.images)}`"
    return f"`{platform.table(source.bigquery)}`" if source.bigquery else "the rows of its query"


def _baselines(experiment: Experiment) -> str:
    names = [f"BigQuery ML {name}" for name in experiment.baselines.bqml]
    if experiment.baselines.automl:
        names.append(f"AutoML, at most {experiment.baselines.automl.node_hours:g} node hours")
    if not names:
        return ""
    what = ", ".join(names)
    return f"| baselines | {what}; one that fails is shown as failed, and the run goes on |\n"

"""A DAG's page in the Airflow UI: what it does, whose it is, what it costs, what to do at night."""

from research.cost import Cost
from research.experiment import Experiment
from research.platform import Platform
from research.quantities import usd_text

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
| result | says who won; fails if a training is missing from the leaderboard |

Every run's files are below `gs://{bucket}/{name}/runs/`. A triggered run may change the numbers
above: the form explains them.

### When it fails at night

Nothing burns: every job has a timeout, and the whole run stays below its budget. It can wait until
the morning.

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

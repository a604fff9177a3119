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
| export | {source} as TFRecords (Dataflow); skipped when this dataset is there already |
| tune | {trials} trials of {tune_epochs} epochs, {parallel} at a time: {goal} {metric} |
| choose | the best {top} of the trials that succeeded |
| train | each of them for up to {train_epochs} epochs on {workers} worker(s) (Vertex AI) |
| compare | all of them on one test split: `leaderboard.json`, `report.html` (Vertex AI) |
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
        source=f"`{platform.uri(experiment.source.images)}`",
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

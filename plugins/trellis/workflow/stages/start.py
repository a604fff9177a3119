"""start: finds the weights of the served model, from which one more training begins.

That training has the champion's hyperparameters, without those that no longer exist, and competes
with those that begin with new weights: the leaderboard shows what the start is worth. It is
refused, before anything is spent on training, where the weights do not fit this run's data, or the
champion has learned from examples by which this run is judged. start.json has what was found;
before there is a champion there is none.
"""

from collections.abc import Iterator
from typing import Any

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.aliases import CHAMPION
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import start_checks, train
from trellis.workflow.stages.stage import Building, Row, Stage
from trellis.workflow.validation.file import known_to
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.layout import metrics, trained_model
from trellis_contracts.plan import PlanFile
from trellis_contracts.start import Start
from trellis_contracts.training import Training


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns the trainings of an experiment without a search, as `choose` does;
    None with one.
    """
    from trellis.workflow.lookups import documents, plans
    from trellis.workflow.stages.function_operator import function_task

    @function_task(task_id="start")
    def start(run_id=None):
        plan = plans.load(experiment, platform, run_id)
        found = find(plan, platform)
        if found is None:
            print("There is no champion yet: every training begins with new weights.")
        else:
            documents.write_file(platform, plan.run.start, found)
            print(f"One more training begins with the weights of {found.version}: {found.weights}")
        if plan.experiment.searches:
            return None
        return with_start(train.every_untuned(plan.experiment, None), found)

    return start()


def with_start(chosen: list[dict[str, Any]], found: Start | None) -> list[dict[str, Any]]:
    """Return the trainings of a run and the one that begins with the champion's weights."""
    if found is None:
        return chosen
    parameters = dict(found.hyperparameters)
    further = {"rank": len(chosen) + 1, "trial": None, "parameters": parameters}
    return [*chosen, {**further, "start": found.weights}]


def find(plan: Plan, platform: Platform) -> Start | None:
    """The champion's training; None if there is no champion.

    Raises AirflowFailException if the run cannot go on from it, with all that is in the way.
    """
    from airflow.sdk.exceptions import AirflowFailException

    from trellis.workflow.lookups import documents, examples, versions

    try:
        known = versions.versions(plan.experiment, platform)
    except versions.VersionError as error:
        raise AirflowFailException(str(error)) from None
    champion = versions.find(known, CHAMPION)
    if champion is None:
        return None
    training = _training(champion)
    before = documents.find_file(platform, Training, metrics(training)) if training else None
    if before is None:
        raise AirflowFailException(
            f"train.start: {champion.name} is the champion, and is no training of which the bucket "
            f"has a metrics.json ({training or 'it does not say where it came from'}). Leave "
            "`start` out for this run, or serve a training of this experiment."
        )
    planned = documents.find_file(platform, PlanFile, f"{champion.run}plan.json")
    then = layout.dataset_mark(before.dataset.uri)
    described = documents.find_file(platform, DatasetDescription, then)
    now = layout.dataset_mark(plan.dataset.uri)
    current = documents.read_file(platform, DatasetDescription, now)
    weights = _weights(platform, training)
    accepted = known_to(plan.experiment)
    if gone := [name for name in before.hyperparameters if name not in accepted]:
        print(f"Left out, as this version has no such hyperparameter: {', '.join(gone)}")
    values = {name: value for name, value in before.hyperparameters.items() if name in accepted}
    problems = [
        *start_checks.of_training(before, plan),
        *start_checks.of_split(planned.configuration if planned else None, plan.experiment),
        *start_checks.of_data(described, current),
        *start_checks.of_values(values, accepted),
        *([] if weights else ["its training has kept no weights of its best epoch"]),
    ]
    if problems or weights is None:
        texts = examples.for_log(platform, plan.run.examples_of("start"), problems)
        reasons = "\n  ".join([f"train.start: this run cannot go on from {champion.name}:", *texts])
        raise AirflowFailException(
            f"{reasons}\nNothing was spent on training. Leave `start` out of the file for one run, "
            "whose model, once it is served, is a start again."
        )
    return Start(
        version=champion.name,
        training=training,
        weights=weights,
        dataset=before.dataset.fingerprint,
        hyperparameters=values,
    )


def _training(champion: Any) -> str:
    """Return the folder of a version's training; "" if the version does not lie in one."""
    folder: str = champion.artifact.rstrip("/").removesuffix("model")
    inside = champion.run and folder.startswith(f"{champion.run}training/")
    return folder if inside and f"{champion.artifact.rstrip('/')}/" == trained_model(folder) else ""


def _weights(platform: Platform, training: str) -> str | None:
    """Return the newest checkpoint's weights of the best epoch; None if there are none."""
    from trellis.workflow.lookups import storage

    folder = f"{training}checkpoints/"
    names = {blob.name for blob in storage.each_blob(platform, folder)}
    bucket = training.removeprefix("gs://").partition("/")[0]
    # state.json is written last.
    whole = [
        name
        for name in sorted(names)
        if name.endswith("/best.npz") and name.replace("/best.npz", "/state.json") in names
    ]
    return f"gs://{bucket}/{whole[-1]}" if whole else None


def _tasks(dag: Building) -> Any:
    return task(dag.experiment, dag.platform)


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    yield (
        "start",
        "finds the served model's weights for one more training; refuses the run if they do not "
        "fit its data, or have seen its validation or test examples",
    )


def _dry_run(plan: Plan, platform: Platform) -> Iterator[Row]:
    yield "start", "one more training goes on from the served model, if there is one"


STAGE = Stage(
    name="start",
    where="Airflow",
    writes=["start.json"],
    when=lambda experiment: experiment.train.start is not None,
    tasks=_tasks,
    page=_page,
    dry_run=_dry_run,
    advice={
        "start": "Nothing was spent on training, and the served model is unchanged. Follow the "
        "message, and trigger a new run."
    },
)

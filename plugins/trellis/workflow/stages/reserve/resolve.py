"""resolve: decides once for a run which version to serve anew, and by which image.

A run that is cleared keeps its decision, as long as nothing else has become the champion.
"""

from typing import Any

from airflow.sdk.exceptions import AirflowSkipException

from trellis.identity import label_value
from trellis.workflow.contracts.aliases import CHAMPION, RUN_LABEL
from trellis.workflow.contracts.layout import ReserveRun, Run, reserve_decision
from trellis.workflow.lookups import documents, endpoint, images, storage, versions
from trellis.workflow.lookups.versions import VersionError
from trellis.workflow.spec import job_images
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform, PlatformError
from trellis.workflow.spec.problems import FileError
from trellis.workflow.stages.function_operator import function_task
from trellis.workflow.stages.refusal import refused
from trellis.workflow.stages.reserve.subject import ReservedSubject
from trellis_contracts.challenger import Challenger
from trellis_contracts.reserve import Reserve


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns the decision, as reserves/RUN.json has it."""

    @function_task(task_id="resolve")
    def resolve(run_id=None):
        try:
            decided = make(experiment, platform, run_id)
        except AirflowSkipException as nothing:
            print(nothing)
            raise
        except (FileError, PlatformError, VersionError) as error:
            raise refused(error, platform, state="nothing was changed") from None
        print(f"To be served anew: {decided.version}, by {decided.image}")
        return decided.to_document()

    return resolve()


def make(experiment: Experiment, platform: Platform, run_id: str) -> Reserve:
    """Decide, and record the decision; repeating it gives the same.

    Raises VersionError or PlatformError for what a person must change, AirflowSkipException if
    there is nothing to do.
    """
    address = reserve_decision(platform.bucket, experiment.name, run_id)
    decided = documents.find_file(platform, Reserve, address)
    champion = versions.find(versions.versions(experiment, platform), CHAMPION)
    if champion is None:
        raise VersionError(
            f"{experiment.name} has no champion, so nothing can be served anew. A run of the DAG "
            f"`{platform.dag_id(experiment.name)}` must promote a model first."
        )
    subject = ReservedSubject(experiment, platform)
    model = versions.registered(platform, champion)
    if decided is not None:
        run = subject.addresses(run_id, decided.trained)
        own = model.labels.get(RUN_LABEL) == label_value(run.folder)
        if champion.name != decided.version and not own:
            raise VersionError(
                f"Version {champion} became the champion since this run decided to serve "
                f"{decided.version} anew. That stays; trigger a new run to serve it anew, too."
            )
        return decided
    image = job_images.of_server(
        experiment, platform, gpu=experiment.deployment.machines.gpu is not None
    )
    if champion.service is not None:
        raise AirflowSkipException(
            f"Nothing to do: version {champion}, is a model of {champion.service}, which Google's "
            "own server serves."
        )
    known = images.require(experiment.name, platform, [image])
    pinned = job_images.by_digest(image, known.digests)
    if model.container_spec.image_uri in (image, pinned):
        raise AirflowSkipException(
            f"Nothing to do: version {champion}, is served by {image} already, today's image."
        )
    run = subject.addresses(run_id, _trained(experiment, platform, champion))
    _require_files(platform, run, champion, model.artifact_uri)
    _require_undivided(platform, run)
    decided = Reserve(
        run_id=run_id,
        version=champion.name,
        first=champion.first,
        trained=run.trained,
        image=pinned,
    )
    documents.write_file(platform, address, decided)
    return decided


def _trained(
    experiment: Experiment, platform: Platform, champion: versions.RegisteredVersion
) -> str:
    """Name of the folder of the run that trained the version. Raises VersionError."""
    folder = champion.run.rstrip("/").rpartition("/")[2]
    if champion.run != Run(platform.bucket, experiment.name, folder).uri:
        raise VersionError(
            f"Version {champion}, does not say which run below gs://{platform.bucket}/"
            f"{experiment.name}/runs/ trained it: its test examples cannot be found. Train anew."
        )
    return folder


def _require_files(
    platform: Platform, run: ReserveRun, champion: versions.RegisteredVersion, model: str
) -> None:
    """Raises VersionError unless the model's files are there, and the examples are its own."""
    challenger = documents.find_file(platform, Challenger, run.challenger)
    if challenger is None or challenger.model.rstrip("/") != model.rstrip("/"):
        what = "is of another training" if challenger else "is not there"
        raise VersionError(
            f"Version {champion}: {run.challenger}, with its test examples, {what}. Train anew."
        )
    if next(iter(storage.each_blob(platform, challenger.model)), None) is None:
        raise VersionError(f"Version {champion}: {model} has no files any more. Train anew.")


def _require_undivided(platform: Platform, run: ReserveRun) -> None:
    """Raises VersionError while requests go to another version than the champion."""
    found = endpoint.find(platform, run)
    for version in found.versions if found else ():
        if not version.champion:
            raise VersionError(
                f"{version.name} gets {version.traffic}% of the requests and is not the champion: "
                "a deployment is going on, or was left half-way. Wait for it, or trigger the DAG "
                f"`{platform.dag_id('rollback')}` with the version `champion`; then trigger a new "
                "run."
            )

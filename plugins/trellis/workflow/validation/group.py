"""Validates an experiment against the group's platform."""

import json
from collections.abc import Collection, Iterator, Mapping

from trellis.workflow.pricing import machines
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform, PlatformError
from trellis.workflow.spec.problems import Problem, did_you_mean
from trellis.workflow.validation.hyperparameters import possible
from trellis_contracts import catalog
from trellis_contracts.withheld import quoted

REGISTERED_IN = {"US": "us-central1", "EU": "europe-west4"}
"""Region of Vertex AI's registry in which BigQuery registers the models of a multi-region:
https://cloud.google.com/bigquery/docs/managing-models-vertex"""


def problems(experiment: Experiment, platform: Platform) -> Iterator[Problem]:
    """Return why no run of the experiment, or no prediction by its models, could succeed."""
    yield from _not_in_region(experiment, platform)
    yield from _reserved_elsewhere(experiment, platform)
    access = platform.access
    if access is not None and not access.owners.get(experiment.owner):
        yield Problem(
            ("owner",),
            f"platform.yaml names no role of '{experiment.owner}', so nobody but Airflow's "
            f"administrators could trigger a run (access.owners); "
            + did_you_mean(experiment.owner, access.owners),
        )
    for section in ("deploy", "predict"):
        if getattr(experiment, section) is not None and not platform.service_account:
            # https://docs.cloud.google.com/vertex-ai/docs/general/custom-service-account
            yield Problem(
                (section,),
                "needs the group's service_account, and platform.yaml names none: without it a "
                "model runs as an identity of Google's that may read no bucket of this project. "
                "Write `service_account: NAME@PROJECT.iam.gserviceaccount.com` there, of one "
                "that may read the bucket",
            )
    if experiment.deploy is not None and "bqml" in experiment.deploy.allow:
        registered = REGISTERED_IN.get(platform.location.upper(), platform.location.lower())
        if registered != platform.region:
            yield Problem(
                ("deploy", "allow"),
                f"BigQuery registers a model of its location {platform.location} in {registered}, "
                f"and the endpoint is in {platform.region} (platform.yaml): leave bqml out",
            )
    if experiment.deploy is not None and experiment.deploy.private:
        try:
            platform.private_network()
        except PlatformError as error:
            yield Problem(("deploy", "private"), str(error))


def require(experiment: Experiment, platform: Platform) -> None:
    """Raises PlatformError with everything that the platform lacks."""
    if found := [str(problem) for problem in problems(experiment, platform)]:
        raise PlatformError(f"{experiment.name}: " + "; ".join(found))


def too_few_for_automl(
    experiment: Experiment, platform: Platform, rows: int | None, classes: Mapping[str, int] | None
) -> str | None:
    """Return why AutoML would refuse the examples, as far as they are counted; None if it would
    not.

    classes: images by class; None for rows.
    """
    if experiment.baselines.automl is None:
        return None
    if classes is not None:
        least = platform.automl_minimum_images
        few = [f"{name} ({count})" for name, count in classes.items() if count < least]
        which = quoted(f"these have fewer: {', '.join(few)}", f"{len(few)} have fewer")
        wrong = f"{least} images of each class, and {which}"
        enough = not few
    else:
        least = platform.automl_minimum_rows
        wrong = f"{least:,} rows, and the source has {rows}"
        enough = rows is None or rows >= least
    return None if enough else f"AutoML needs at least {wrong}; leave `baselines.automl` out"


def unknown_classes(experiment: Experiment, classes: Collection[str]) -> str | None:
    """Return why a class that `positive` or class_weights names is none of the examples'; None if
    all are.
    """
    positive = experiment.positive
    if positive is not None and positive not in classes:
        return f"positive: no example is of the class '{positive}'; {_near(positive, classes)}"
    for model, one in experiment.networks.items():
        where = "" if model is None else f"other_models.{model}."
        for text in possible(one, catalog.load(), "class_weights"):
            for name in json.loads(text) if text.startswith("{") else ():
                if name not in classes:
                    return (
                        f"{where}hyperparameters.class_weights: no example is of the class "
                        f"'{name}'; {_near(name, classes)}"
                    )
    return None


def _near(name: str, classes: Collection[str]) -> str:
    return quoted(did_you_mean(name, sorted(classes)[:20]), f"there are {len(classes)} others")


def _not_in_region(experiment: Experiment, platform: Platform) -> Iterator[Problem]:
    """Machines without a price where the jobs run, if prices of that region are known."""
    table = machines.table(platform.region)
    for section in ("tune", "train", "deploy", "predict"):
        part = getattr(experiment, section)
        if part is not None:
            missing = table.unpriced(part.machines)
            if missing:
                yield Problem(
                    (section, "machines"),
                    f"Google's catalog had no {' and no '.join(missing)} in {table.region} on "
                    f"{table.date}; choose another, or look again with `trellis prices`",
                )


def _reserved_elsewhere(experiment: Experiment, platform: Platform) -> Iterator[Problem]:
    """Reservations in a zone of another region than that of the jobs."""
    for section in ("tune", "train"):
        part = getattr(experiment, section)
        if part is None or part.machines.reservation is None:
            continue
        zone = part.machines.reservation.partition("/")[0]
        if zone.rpartition("-")[0] != platform.region:
            yield Problem(
                (section, "machines", "reservation"),
                f"is in {zone}, and jobs run in {platform.region} (platform.yaml: region): name "
                "one in a zone of that region",
            )

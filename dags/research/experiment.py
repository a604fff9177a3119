"""Experiment: the researcher's file, typed and checked in full before anything is spent.

    experiment = load(Path("dags/experiments/digits.yaml"))

Every key has one meaning, a unit, bounds and a default; `python -m research reference` prints them
from here. What is wrong with a file is said all at once, with line, field and what was expected.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from research import checks, deployment_checks
from research.deployment_section import Deploy
from research.prediction import checks as prediction_checks
from research.prediction.section import Predict
from research.problems import Field as Where
from research.problems import FileError, Problem
from research.quantities import USD, Date, Duration, Number, Pixels, Scalar
from research.sections import Section, check, key
from research.trainer_schema import TrainerSchema
from research.trainer_schema import load as load_schema
from research.yaml_file import parse

NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
"""An experiment's name: it becomes a DAG id, a folder, a label, a part of job names, and the ID of
an endpoint, which must not end with a dash."""


class Split(Section):
    """Shares of the examples, in percent of their keys' hash; together 100."""

    train: int = key("examples to learn from", 80, unit="percent", ge=1, le=98)
    validation: int = key("examples that choose trial and epoch", 10, unit="percent", ge=1, le=98)
    test: int = key("examples that score the contenders", 10, unit="percent", ge=1, le=98)


class Source(Section):
    """Where the examples come from and how they are stored for training: images, or a table.

    Which keys belong to which of the two, `research.checks` says.
    """

    images: str | None = key(
        "manifest in Vertex AI's image import format, lines of [ML_USE,]gs://image,label: "
        "a path in the group's bucket, or a gs:// address",
        None,
        min_length=1,
    )
    bigquery: str | None = key(
        "table or view, DATASET.TABLE or PROJECT.DATASET.TABLE", None, min_length=1
    )
    query: str | None = key("one SELECT in GoogleSQL, in place of a table", None, min_length=1)
    key_: str | None = key(
        "column that names an example, unique; its split follows from it alone",
        None,
        alias="key",
        min_length=1,
    )
    label: str | None = key("column to predict", None, min_length=1)
    features: list[str] | None = key(
        "columns to predict it from; all others than key, label and partition if left out",
        None,
        min_length=1,
    )
    categorical: list[str] = key("whole-number columns that name categories, as text does", [])
    partition: str | None = key(
        "DATE, DATETIME or TIMESTAMP column: a run takes the rows of its data interval (UTC)",
        None,
        min_length=1,
    )
    vocabulary: int = key(
        "terms of a categorical column that are told apart, the most frequent ones",
        1000,
        ge=1,
        le=1_000_000,
    )
    size: Pixels | None = key("size that images are scaled to: one side, or [height, width]", None)
    channels: Literal[1, 3] = key("1 for grey, 3 for colour images", 3)
    encoding: Literal["png", "jpeg"] = key("png keeps every pixel, jpeg is smaller", "jpeg")
    max_rejected: float = key(
        "share of unusable images (missing, corrupt, unlabelled) above which the export fails",
        0.05,
        ge=0,
        le=1,
    )
    split: Split = key("shares, where an image manifest has no ML_USE column", Split())
    shards: int = key("files of the train split; each worker reads its own", 8, ge=1, le=10000)

    @property
    def kind(self) -> str:
        """image or table: the words of the trainer's models for what they take."""
        return "image" if self.images is not None else "table"

    @property
    def address(self) -> str:
        """The manifest, the table, or the query."""
        return self.images or self.bigquery or self.query or ""


OF_IMAGES = ("size", "channels", "encoding", "max_rejected")
"""Keys of a source that only images have."""

OF_TABLES = ("key", "label", "features", "categorical", "partition", "vocabulary")
"""Keys of a source that only tables and queries have."""


class Machines(Section):
    """What each replica runs on."""

    type: str = key("Compute Engine machine type", "n1-standard-4")
    gpu: str | None = key("accelerator type of each replica, as in NVIDIA_TESLA_T4", None)
    gpus: int = key("accelerators of each replica, if `gpu` names one", 1, ge=1, le=16)
    spot: bool = key("use spot machines: far cheaper, and interrupted at times", False)


class TrainingMachines(Machines):
    """What the replicas of one full training run on."""

    workers: int = key("machines that train one model together", 1, ge=1, le=64)


class Range(Section):
    """What the tuner may choose for one hyperparameter: {from, to, scale} or {choose}."""

    from_: Number | None = key("least value", None, alias="from")
    to: Number | None = key("greatest value", None)
    scale: Literal["linear", "log"] = key("log: each power of ten gets its share", "linear")
    choose: list[Scalar] | None = key("the values to choose from", None)


class Tune(Section):
    """The search: many short trainings with different hyperparameters."""

    maximize: str | None = key("metric to maximize (or minimize: another)", None)
    minimize: str | None = key("metric to minimize", None)
    trials: int = key("trainings to try", unit="trials", ge=1, le=1000)
    parallel: int = key("trials at the same time; more learn less from each other", 1, ge=1, le=100)
    epochs: int = key("length of a trial", unit="epochs", ge=1, le=10000)
    search: dict[str, Range] = key("what to vary, by hyperparameter", min_length=1)
    algorithm: Literal["bayesian", "random", "grid"] = key("how to pick the next trial", "bayesian")
    measurement: Literal["best", "last"] = key("which epoch of a trial counts", "best")
    stop_early: bool = key("stop a trial whose metric lies below the others' median", False)
    max_failed: int = key("failed trials at which the search fails", 3, ge=1, le=1000)
    machines: Machines = key("what each trial runs on", Machines())
    timeout: Duration = key("when a trial is stopped", timedelta(hours=1))

    @property
    def metric(self) -> str:
        return self.maximize or self.minimize or ""

    @property
    def goal(self) -> str:
        """maximize or minimize."""
        return "maximize" if self.maximize else "minimize"


class Train(Section):
    """The full trainings of the best trials."""

    top: int = key("how many of the best trials are trained in full", 1, ge=1, le=20)
    epochs: int = key("length of a training; it may end sooner", unit="epochs", ge=1, le=10000)
    machines: TrainingMachines = key("what each training runs on", TrainingMachines())
    timeout: Duration = key("when a training is stopped", timedelta(hours=2))


class AutoML(Section):
    """A model that Vertex AI AutoML searches for."""

    node_hours: float = key(
        "training at most so long; tables from 1, images from 8", unit="node hours", ge=1, le=800
    )


class Baselines(Section):
    """What the trainings have to beat, trained and scored on the same examples."""

    bqml: list[str] = key("BigQuery ML models, by type, one baseline each", [])
    automl: AutoML | None = key("one AutoML model", None)

    @property
    def count(self) -> int:
        return len(self.bqml) + (self.automl is not None)


class Experiment(Section):
    """One experiment file. `name` and `about` come from the file's name and its first lines."""

    name: str = Field(exclude=True)
    about: str = Field(exclude=True)
    owner: str = key("who answers for it", min_length=1)
    schedule: str = key("manual, @daily, @weekly, ... or a cron expression (UTC)", "manual")
    until: Date | None = key("no run by schedule, or backfill, from this day on (UTC)", None)
    budget: USD = key("a run that may cost more than this is refused, as in '6 USD'")
    generation: int = key(
        "raise it, and clear a run, to do that run again where it would find its work done", 1, ge=1
    )
    seed: int = key("makes a training repeatable", 0, ge=0, le=2**31 - 1)
    source: Source = key("where the examples come from")
    model: str = key("architecture, one of the trainer's models")
    task: str = key("what is learned, one of the trainer's tasks")
    hyperparameters: dict[str, Scalar] = key(
        "fixed for all trainings; what is neither here nor searched has the trainer's default",
        {},
    )
    tune: Tune = key("the search for hyperparameters")
    train: Train = key("the full trainings of the best trials")
    baselines: Baselines = key("what the trainings have to beat", Baselines())
    deploy: Deploy | None = key("when and how the best training is served; left out: never", None)
    predict: Predict | None = key("batch prediction by the champion; left out: never", None)

    def configuration(self) -> dict[str, Any]:
        """As an experiment file would say it, defaults filled in: fit for JSON and for YAML."""
        values = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        for name in OF_TABLES if self.source.kind == "image" else OF_IMAGES:
            values["source"].pop(name, None)
        if self.deploy is not None:
            gate = values["deploy"]["gate"]
            # null says something here: the model now served is not compared with.
            gate["tolerance"] = self.deploy.gate.tolerance
            if not self.baselines.count:
                # Only the default can stand beside no baselines, and it asks nothing then.
                del gate["beat"]
        return values

    def changed(self, changes: Mapping[Where, Any]) -> "Experiment":
        """This experiment with other values for some fields (None: its default), checked anew.

        Raises FileError; its problems have no lines, as the values are in no file.
        """
        values = self.configuration()
        for where, value in changes.items():
            section = values
            for part in where[:-1]:
                section = section[part]
            if value is None:
                section.pop(where[-1], None)
            else:
                section[where[-1]] = value
        experiment, problems = validate(self.name, self.about, values, load_schema())
        if experiment is None:
            raise FileError(f"The parameters of this run of {self.name}", problems)
        return experiment


def load(path: Path, schema: TrainerSchema | None = None) -> Experiment:
    """Read and check one experiment file. Raises FileError with everything that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(str(path), [Problem((), f"cannot be read: {error}")]) from None
    document = parse(str(path), text)
    problems = []
    if not NAME.fullmatch(path.stem):
        message = (
            f"the file's name names the experiment: '{path.stem}' is not a lower-case letter "
            "followed by up to 39 lower-case letters, digits and dashes, no dash at the end"
        )
        problems.append(Problem((), message))
    elif path.stem == "rollback" or path.stem.endswith("-predict"):
        # DAGs of these names are made beside those of the experiments.
        message = f"the file's name names the experiment, and a DAG '{path.stem}' has another use"
        problems.append(Problem((), message))
    experiment, found = validate(
        path.stem, document.comment, document.values, schema or load_schema()
    )
    if experiment is None or problems:
        raise document.error([*problems, *found])
    return experiment


def validate(
    name: str, about: str, values: Mapping[str, Any], schema: TrainerSchema
) -> tuple[Experiment | None, list[Problem]]:
    """The experiment, or None and all its problems (without lines)."""
    reserved = [Problem((k,), "the file's name says it") for k in ("name", "about") if k in values]
    experiment, problems = check(Experiment, {**values, "name": name, "about": about})
    problems += reserved
    if experiment is not None:
        problems += checks.problems(experiment, schema)
        problems += deployment_checks.problems(experiment, schema)
        problems += prediction_checks.problems(experiment)
    return (None if problems else experiment), problems

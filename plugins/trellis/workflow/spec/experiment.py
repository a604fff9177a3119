"""Experiment: the researcher's file, typed.

Every key has one meaning, a unit, bounds and a default; `python -m trellis reference` prints them
from here. What must fit together across sections is in `validation`.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any, Literal

from pydantic import Field, SkipValidation, ValidationInfo, field_validator

from trellis.workflow.spec.baselines import AutoML, Baselines
from trellis.workflow.spec.decision import Decision
from trellis.workflow.spec.deployment import Deploy
from trellis.workflow.spec.own_image import is_address
from trellis.workflow.spec.own_model import OwnModel
from trellis.workflow.spec.prediction import ImagePredict, Predict, QueryPredict, TablePredict
from trellis.workflow.spec.quantities import (
    USD,
    ClassName,
    Date,
    Duration,
    FlagValue,
)
from trellis.workflow.spec.schedule import MANUAL, ExperimentSchedule, by_time
from trellis.workflow.spec.sections import Section, broken, key
from trellis.workflow.spec.slice_entry import SliceEntry
from trellis.workflow.spec.source import Source
from trellis.workflow.spec.train import Train
from trellis.workflow.spec.tuning import Maximize, Minimize, OtherModel, Range, Tune
from trellis_contracts.dataset import SPLITS
from trellis_contracts.folds import Folds
from trellis_contracts.held_out import HeldOut
from trellis_contracts.slices import MOST_ENTRIES
from trellis_contracts.tasks import NAMED


class Program(Section):
    """Commands of an image that is not ours, and the routes of its server."""

    train: list[str] = key("command of trials and trainings; [] is the image's entry point", [])
    serve: list[str] = key("command of the server; [] is the image's entry point", [])
    health: str = key("route that answers GET with 200 when the model is loaded", "/health")
    predict: str = key("route that answers predictions", "/predict")


class Experiment(Section):
    """One experiment file. `name` and `about` come from the file's name and its first lines,
    `own_models` from the files that `model` and `other_models` name, by their names; `image_files`
    has the SHA-256 of the requirements of each image that `image` and `serve_image` name.
    """

    name: str = Field(exclude=True)
    about: str = Field(exclude=True)
    own_models: SkipValidation[Mapping[str, OwnModel]] = Field({}, exclude=True)
    image_files: SkipValidation[Mapping[str, str]] = Field({}, exclude=True)
    # Airflow's database has room for no more in one of its columns.
    owner: str = key("person or group who answers for it", min_length=1, max_length=250)
    schedule: ExperimentSchedule = key("when it runs (UTC)", MANUAL)
    until: Date | None = key("first day without scheduled or backfilled runs (UTC)", None)
    budget: USD = key("limit for one run: a run that may cost more is refused")
    deadline: Duration | None = key(
        "time from its start in the queue after which an unfinished run is reported", None
    )
    generation: int = key(
        "increase it, then clear a run, to repeat work that is already done", 1, ge=1
    )
    reuse: bool = key(
        "take a tuning study or training from a finished run with equal dataset, hyperparameters, "
        "image and machines; never without the digest of the image, which Artifact Registry knows",
        False,
    )
    seed: int = key("makes a training repeatable", 0, ge=0, le=2**31 - 1)
    source: Source = key("where the examples come from")
    model: str = key(
        "one of the trainer's models, or a Python file beside this one: with a Keras model's "
        "`build`, or with `fit` and `load` of any library"
    )
    image: str | None = key(
        "image of its jobs: the trainer's, with the packages that images/NAME.txt beside this file "
        "lists; or the whole address, with a tag or digest, of one that knows nothing of Trellis, "
        "whose program trains and serves (`trellis contract`); left out: the trainer's",
        None,
    )
    serve_image: str | None = key(
        "image that serves its models (`deploy`, `predict`), of the same kind; left out: that of "
        "its jobs",
        None,
    )
    program: Program | None = key(
        "how the program of an `image` that is not ours is started; left out: by its own entry "
        "point",
        None,
    )
    task: str = key("kind of answer to learn, one of the trainer's tasks")
    positive: ClassName | None = key(
        "of a binary_classification the positive class: its metrics, curves and thresholds lead; "
        "left out: of the two names the second in natural order, as in no, yes; 0, 1; false, true; "
        "benign, malignant",
        None,
    )
    hyperparameters: dict[str, FlagValue] = key(
        "fixed in all trainings; those neither here nor searched have the trainer's defaults", {}
    )
    tune: Tune | None = key(
        "the search for hyperparameters; left out: one training, with those of `hyperparameters`",
        None,
    )
    train: Train = key("the full trainings of the best trials")
    calibrate: Literal["temperature", "isotonic"] | None = key(
        "correct the probabilities of the full trainings on the validation split, inside what is "
        "served: temperature divides the logits by one number, isotonic is an increasing function "
        "of each class, for large splits; left out: the model's own",
        None,
    )
    decision: Decision | None = key(
        "how the full trainings choose, on the validation split and after calibration, above which "
        "probability the positive class of a binary_classification is decided; left out: a half",
        None,
    )
    abstain: float | None = key(
        "share of the examples, the least certain, that the served model hands back: it answers "
        "each with `abstained`; left out: none",
        None,
        ge=0.001,
        le=0.9,
    )
    coverage: float | None = key(
        "probability with which the set of classes, or the interval of a number, that the served "
        "model gives with each prediction has the truth; left out: it gives none",
        None,
        ge=0.5,
        le=0.999,
    )
    other_models: dict[str, OtherModel] = key(
        "models that compete with `model`, by name, or by that of a Python file beside this one: "
        "each has its own search, as `tune` says, and its own `train.top`",
        {},
    )
    baselines: Baselines = key("models that the trainings must beat", Baselines())
    slices: list[SliceEntry] = key(
        "columns, features or not, by whose values the test split is divided: every contender is "
        "scored in each part, and the training in its gap to all others",
        [],
        max_length=MOST_ENTRIES,
    )
    deploy: Deploy | None = key(
        "conditions and steps of serving the selected training; left out: it is not served", None
    )
    predict: Predict | None = key("batch prediction by the champion; left out: never", None)
    # `profile` merges it over the others before they are checked, and takes it away.
    local: dict[str, Any] | None = key(
        "keys of this file with other values where platform.yaml has `profile: local`: mappings "
        "are merged, other values replaced, null removes a key",
        None,
    )

    @field_validator("until")
    @classmethod
    def _ends_a_schedule(cls, until: date | None, info: ValidationInfo) -> date | None:
        # A schedule with a problem has said enough.
        if until is not None and "schedule" in info.data and not by_time(info.data["schedule"]):
            raise broken("ends a schedule by time, but this experiment has none")
        return until

    def of(self, model: str | None) -> "Experiment":
        """Return the experiment with one model alone: one of `other_models`, or None for
        `model`.
        """
        if model is None:
            return self.model_copy(update={"other_models": {}}) if self.other_models else self
        other, tune, train = self.other_models[model], self.tune, self.train
        if tune is not None and other.search:
            tune = tune.model_copy(update={"search": other.search})
        else:
            tune = None
            train = train.model_copy(update={"top": 1, self.goal: self.metric})
        return self.model_copy(
            update={
                "model": model,
                "hyperparameters": other.hyperparameters,
                "tune": tune,
                "train": train,
                "other_models": {},
            }
        )

    @property
    def own_model(self) -> OwnModel | None:
        """The file that `model` names; None if it is one of the trainer's models."""
        return self.own_models.get(self.model)

    @property
    def foreign(self) -> bool:
        """True if its image is not ours: what trains and serves is a program of its own."""
        return is_address(self.image)

    @property
    def commands(self) -> Program:
        """How that program is started."""
        return self.program or Program()

    @property
    def server(self) -> str | None:
        """The image of its own that serves its models; None: one of ours."""
        return self.serve_image or self.image

    @property
    def by_model(self) -> "dict[str | None, Experiment]":
        """The experiment with each model alone, `model` (None) first."""
        return {model: self.of(model) for model in (None, *self.other_models)}

    @property
    def networks(self) -> "dict[str | None, Experiment]":
        """The models of `by_model` that have the hyperparameters of every Keras model: all but
        files with `fit`.
        """
        return {
            model: one
            for model, one in self.by_model.items()
            if one.own_model is None or not one.own_model.declaration.estimator
        }

    @property
    def held_out(self) -> HeldOut:
        """What the full trainings choose on the validation split when they have ended."""
        rule = self.decision.rule() if self.decision is not None else None
        return HeldOut(self.calibrate, rule, self.abstain, self.coverage)

    @property
    def folds(self) -> Folds | None:
        """The folds of a cross-validation; None: there is one split."""
        count = self.train.folds
        return None if count is None else Folds(count, self.train.repeats or 1)

    @property
    def parts(self) -> tuple[str | None, ...]:
        """What is searched and trained on: None, the model to deploy, then each fold."""
        return (None, *(self.folds.parts if self.folds else ()))

    @property
    def searches(self) -> int:
        """Number of tuning jobs of a run."""
        return len(self.parts) * sum(one.tune is not None for one in self.by_model.values())

    @property
    def trainings(self) -> int:
        """Number of full trainings of a run at most, without repeats."""
        started = self.train.start is not None
        return len(self.parts) * sum(one.train.top for one in self.by_model.values()) + started

    @property
    def tuning(self) -> Maximize | Minimize:
        """The section `tune`, for what only searches have. Raises TypeError without one."""
        if self.tune is None:
            raise TypeError(f"{self.name} tunes nothing")
        return self.tune

    @property
    def search(self) -> Mapping[str, Range]:
        """The search space by hyperparameter; empty without `tune`."""
        return {} if self.tune is None else self.tune.search

    @property
    def goal(self) -> Literal["maximize", "minimize"]:
        """Direction of the metric: more or less is better."""
        if self.tune is not None:
            return self.tune.goal
        return "maximize" if self.train.maximize else "minimize"

    @property
    def metric(self) -> str:
        """The metric that decides among epochs, trials and trainings."""
        if self.tune is not None:
            return self.tune.metric
        return self.train.maximize or self.train.minimize or ""

    @property
    def deployment(self) -> Deploy:
        """The section `deploy`, for what only deployments have. Raises TypeError without one."""
        if self.deploy is None:
            raise TypeError(f"{self.name} deploys no model")
        return self.deploy

    @property
    def may_deploy_automl(self) -> bool:
        """Whether a model of AutoML's may be the champion."""
        return self.deploy is not None and "automl" in self.deploy.services

    @property
    def hurdles(self) -> int:
        """Number of baselines that the challenger has to beat: those that may not be deployed."""
        services = self.deploy.services if self.deploy is not None else ()
        automl = self.baselines.automl is not None and not self.may_deploy_automl
        bqml = 0 if "bqml" in services else len(self.baselines.bqml)
        return automl + bqml + len(self.baselines.files)

    @property
    def prediction(self) -> ImagePredict | TablePredict | QueryPredict:
        """The section `predict`, for what only predictions have. Raises TypeError without one."""
        if self.predict is None:
            raise TypeError(f"{self.name} predicts nothing")
        return self.predict

    @property
    def image_prediction(self) -> ImagePredict:
        """The section `predict`, for what only images have. Raises TypeError without one."""
        if not isinstance(self.predict, ImagePredict):
            raise TypeError(f"{self.name} predicts no images")
        return self.predict

    @property
    def row_prediction(self) -> TablePredict | QueryPredict:
        """The section `predict`, for what only rows have. Raises TypeError without one."""
        if not isinstance(self.predict, TablePredict | QueryPredict):
            raise TypeError(f"{self.name} predicts no rows")
        return self.predict

    @property
    def automl(self) -> AutoML:
        """The AutoML baseline, for what only runs with one have. Raises TypeError without one."""
        if self.baselines.automl is None:
            raise TypeError(f"{self.name} has no AutoML baseline")
        return self.baselines.automl

    def configuration(self) -> dict[str, Any]:
        """The values of the experiment file, defaults filled in: fit for JSON and for YAML."""
        values = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        if self.folds is not None:
            # Shares have no effect beside folds.
            for split in SPLITS:
                values["source"]["split"].pop(split, None)
        if self.deploy is not None:
            gate = values["deploy"]["gate"]
            # null has a meaning here: do not compare with the served model.
            gate["tolerance"] = self.deploy.gate.tolerance
            if self.task not in NAMED:
                del gate["recall"]
            else:
                gate["recall"] = self.deploy.gate.recall
            if not self.hurdles:
                # Only the default can stand beside no baselines to beat, and it has no effect then.
                del gate["beat"]
            if not self.deploy.approve:
                # Nobody is asked: the time for an answer has no effect.
                del values["deploy"]["approve"], values["deploy"]["within"]
        return values

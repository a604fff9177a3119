"""The section `train` of an experiment file: the full trainings, their number and machines."""

from datetime import timedelta
from typing import Literal

from trellis.workflow.spec.machines import TrainingMachines
from trellis.workflow.spec.quantities import Duration, Steps
from trellis.workflow.spec.sections import Section, key
from trellis_contracts.folds import LEAST


class Train(Section):
    """The full trainings of the best trials, or the only training if nothing is tuned."""

    maximize: str | None = key("metric that decides, without `tune`; one of both is required", None)
    minimize: str | None = key("metric that decides, without `tune`, if less of it is better", None)
    top: int = key("number of the best trials that are trained in full", 1, ge=1, le=20)
    seeds: int = key(
        "number of seeds that the selected training is trained with, from `seed` on; of several, "
        "the report has the mean and standard deviation of each score",
        1,
        ge=1,
        le=20,
    )
    folds: int | None = key(
        "folds of a cross-validation, for small data: in each, search, choice and training on the "
        "others, so that every row is predicted by a model that has not seen it; the model to "
        "deploy is trained on all but one; left out: one split",
        None,
        ge=LEAST,
        le=20,
    )
    repeats: int | None = key(
        "times that the cross-validation divides the rows anew; left out: once", None, ge=1, le=20
    )
    ensemble: bool = key(
        "the mean of the probabilities (of a regression the values) of all these trainings is one "
        "more contender, and one model where it is served; of a single training with `seeds`, that "
        "of its seeds",
        False,
    )
    start: Literal["champion"] | None = key(
        "champion: one more training begins with the weights of the served model, with that "
        "model's hyperparameters, beside those that begin with new ones; none before there is one",
        None,
    )
    epochs: int = key(
        "maximum length of a training; early stopping may end it", unit="epochs", ge=1, le=10000
    )
    machines: TrainingMachines = key("machines of each training", TrainingMachines())
    timeout: Duration = key("time after which a training is stopped", timedelta(hours=2))
    profile: Steps | None = key(
        "steps of the first training of which TensorFlow writes a profile, as in [10, 20]: "
        "TensorBoard shows it",
        None,
    )

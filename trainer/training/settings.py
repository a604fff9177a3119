"""The settings of a training."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from trainer.models.own import OwnModel
from trellis_contracts import hyperparameters, layout
from trellis_contracts.held_out import NOTHING, HeldOut
from trellis_contracts.hyperparameter_field import Value
from trellis_contracts.hyperparameters import Common, Table
from trellis_contracts.models import MODELS, Model, OfFile

STRATEGIES = (
    "auto",
    "single",
    "mirrored",
    "tpu",
    "multi_worker",
    "reduction_server",
    "parameter_server",
)
OUTPUTS = ("all", "metrics")


@dataclass(frozen=True)
class Places:
    """Paths of a training's outputs, below the bucket mount.

    model, checkpoints, logs: Vertex AI's AIP_MODEL_DIR, AIP_CHECKPOINT_DIR and
    AIP_TENSORBOARD_LOG_DIR.
    """

    model: Path
    checkpoints: Path
    logs: Path

    @property
    def metrics(self) -> Path:
        """metrics.json, beside the model."""
        return Path(layout.metrics(f"{self.model.parent}/"))

    @property
    def progress(self) -> Path:
        """progress.json, beside the model."""
        return Path(layout.progress(f"{self.model.parent}/"))

    def examples_of(self, what: str) -> Path:
        """Keys and values of rows that a message leaves out, beside the model."""
        return Path(layout.examples(f"{self.model.parent}/", what))

    @property
    def predictions(self) -> Path:
        """predictions.parquet, beside the model."""
        return Path(layout.predictions(f"{self.model.parent}/"))

    @property
    def uncalibrated(self) -> Path:
        """uncalibrated.parquet, beside the model."""
        return Path(layout.uncalibrated(f"{self.model.parent}/"))


@dataclass(frozen=True)
class Settings:
    """The flags of trainer.task, checked; `python -m trainer.task --help` explains them.

    model: one of MODELS, or the name of a group's own file. own: that file. profile: the first and
    last step, from 1, to profile. start: a file of weights to begin with, gs://... or a path; None:
    new ones.
    """

    dataset: str
    model: str
    task: str
    epochs: int
    seed: int
    metric: str
    outputs: str
    strategy: str
    hyperparameters: Table
    places: Places
    own: OwnModel | None = None
    held_out: HeldOut = NOTHING
    profile: tuple[int, int] | None = None
    start: str | None = None

    @property
    def common(self) -> Common:
        """The hyperparameters of a Keras model. Raises TypeError for a model of another library."""
        if not isinstance(self.hyperparameters, Common):
            raise TypeError(f"{self.model} is no Keras model")
        return self.hyperparameters

    @property
    def declared(self) -> Model:
        """The declaration of the model."""
        if self.own is None:
            return MODELS[self.model]
        return OfFile(self.own.declaration.description, self.own.declaration.inputs)

    @property
    def monitor(self) -> str:
        """Name in an epoch's logs of the metric that selects the best epoch."""
        return f"val_{self.metric}"

    def read_hyperparameters(self, inputs: Collection[str]) -> dict[str, Value]:
        """Return the hyperparameters that this training reads. inputs: what the dataset's examples
        hold.
        """
        h, read = self.hyperparameters, self.declared.reads(inputs)
        return hyperparameters.of_training(h, self.model, read, self.task)

"""A research group's own model: one Python file, checked, executed and built.

    def build(dataset, hyperparameters):
        row = inputs.table(dataset, embedding=8)           # or inputs.image(dataset)
        x = layers.Dense(hyperparameters.width, activation="relu")(inputs.joined(row.flat))
        return keras.Model(row.inputs, layers.Dense(dataset.outputs)(x))

dataset is the DatasetDescription; hyperparameters has an attribute for each that the file declares,
and for those of every model (learning_rate, ...). The model begins with the inputs of
trainer.models.inputs, which hold the preprocessing, so that its SavedModel takes raw examples; of
rows with images, with some of them, as row.images["photo"] and row.inputs["image_photo"]. Its
outputs are as in trainer.models.build: logits (b, classes), or a regression's standardized label
(b, 1), float32.

    def loss(labels, outputs, hyperparameters): ...

is optional: what training minimizes, (b,), one number for each example. labels (b,) are class
indices int64, or a regression's standardized labels float32; of a multi-label task (b, classes)
float32. Metrics, the reported loss among them, stay the task's, so that trainings with different
losses can be compared.

    def train_step(model, batch, hyperparameters): ...

is optional, in place of `loss`: the losses of a batch, of a model with several outputs, say, as
trainer.training.own_step has it.

    def metrics(labels, outputs, hyperparameters): ...

is optional: figures to report beside those, {name: (b,)}, one number for each example, of which the
mean over the validation split is reported after each epoch. labels and outputs are those of `loss`.

The file is executed with the job's rights, as the image's own code is. Only its text is needed:
nothing beside it can be imported.
"""

import functools
import hashlib
import importlib.util
import linecache
import re
import sys
import traceback
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from trainer import storage
from trainer.models import ModelError
from trellis_contracts import hyperparameters, model_file, model_imports
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Common, Table
from trellis_contracts.metrics import IN_TRAINING
from trellis_contracts.model_file import Declaration, ModelFileError

if TYPE_CHECKING:
    import keras

_MODULE = "own_model"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_MAX_BYTES = 1 << 20
_LAST = "layers.Dense(dataset.outputs)"


@dataclass(frozen=True)
class OwnMetrics:
    """A file's metrics. names: in their order. function: labels, outputs -> {name: (b,)}."""

    names: tuple[str, ...]
    function: Callable[[Any, Any], dict[str, Any]]


@dataclass(frozen=True)
class OwnModel:
    """A model's file. name: the file's. sha256: of its content."""

    name: str
    text: bytes
    declaration: Declaration

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text).hexdigest()

    @functools.cached_property
    def table(self) -> type[Table]:
        """The class of its hyperparameters."""
        return hyperparameters.own(self.declaration)

    def build(self, dataset: DatasetDescription, h: Common) -> "keras.Model":
        """The model; its file sees of the dataset what it declares to learn from. Raises ModelError
        if the file's build fails, or returns what cannot be trained and served.
        """
        dataset = dataset.only(self.declaration.inputs)
        model = self.call("build", dataset, h)
        if problem := _unfit(model, dataset, several=self.declaration.train_step):
            raise ModelError(f"{self.name}: build returned {problem}")
        return _by_name(model)

    def loss(self, dataset: DatasetDescription, h: Common) -> Callable[[Any, Any], Any] | None:
        """The file's loss, as a function (labels, outputs) -> (b,); None if it has none.

        Raises ModelError if it fails, or returns anything else, for two examples.
        """
        if not self.declaration.loss:
            return None
        import tensorflow as tf

        losses = self.call("loss", *_two_examples(dataset), h)
        if not tf.is_tensor(losses) or losses.shape != (2,) or losses.dtype != tf.float32:
            found = f"{losses.dtype.name} {losses.shape}" if tf.is_tensor(losses) else repr(losses)
            raise ModelError(
                f"{self.name}: loss returned {found} for 2 examples; expected float32 (2,), one "
                "number for each example"
            )
        # Its own tf.function: AutoGraph converts the file's control flow.
        return tf.function(lambda labels, outputs: self.module.loss(labels, outputs, h))

    def metrics(self, dataset: DatasetDescription, h: Common) -> OwnMetrics | None:
        """The file's metrics; None if it has none.

        Raises ModelError if they fail, or are anything else, for two examples.
        """
        if not self.declaration.metrics:
            return None
        import tensorflow as tf

        found = self.call("metrics", *_two_examples(dataset), h)
        if not isinstance(found, dict) or not found:
            found_type = "{}" if isinstance(found, dict) else type(found).__name__
            raise ModelError(
                f"{self.name}: metrics returned {found_type}; expected {{name: values}}"
            )
        for name, values in found.items():
            if not isinstance(name, str) or not _NAME.fullmatch(name) or name in IN_TRAINING:
                raise ModelError(
                    f"{self.name}: a metric is named {name!r}; expected letters a to z, digits and "
                    "_, and none of the task's own: " + ", ".join(IN_TRAINING)
                )
            if not tf.is_tensor(values) or values.shape != (2,):
                shape = values.shape if tf.is_tensor(values) else repr(values)
                raise ModelError(
                    f"{self.name}: the metric {name} is {shape} for 2 examples; expected (2,), one "
                    "number for each example"
                )
        function = tf.function(lambda labels, outputs: self.module.metrics(labels, outputs, h))
        return OwnMetrics(tuple(found), function)

    @functools.cached_property
    def module(self) -> types.ModuleType:
        """The file, executed."""
        module = types.ModuleType(_MODULE)
        # pickle finds the file's classes by the module's name.
        sys.modules[_MODULE] = module
        # For tracebacks, and for TensorFlow, which reads the source of what it compiles. With a
        # __file__, which is not here, TensorFlow would read that file again, and lose these lines.
        lines = self.text.decode("utf-8").splitlines(keepends=True)
        linecache.cache[self.name] = (len(self.text), None, lines, self.name)
        exec(compile(self.text, self.name, "exec"), module.__dict__)
        return module

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function of the file. Raises ModelError, which names the line, if it fails."""
        return self.guarded(lambda: getattr(self.module, function)(*arguments))

    def guarded(self, run: Callable[[], Any]) -> Any:
        """Run what executes code of the file. Raises ModelError, which names the line, if it
        fails.
        """
        try:
            return run()
        except ModelError:
            raise
        except (Exception, SystemExit) as error:
            lines = [
                frame.lineno
                for frame in traceback.extract_tb(error.__traceback__)
                if frame.filename == self.name
            ]
            where = f", line {lines[-1]}" if lines else ""
            raise ModelError(f"{self.name}{where}: {type(error).__name__}: {error}") from error


def _by_name(model: "keras.Model") -> "keras.Model":
    """The model with its inputs by their names, which is how they are given."""
    import keras

    if isinstance(model.input, dict):
        return model
    taken = {tensor.name: tensor for tensor in model.inputs}
    named = keras.Model(taken, model.output, name=model.name)
    # A subclass may do more than its graph.
    return named if type(named) is type(model) else model


def _two_examples(dataset: DatasetDescription) -> tuple[Any, Any]:
    """Labels and outputs, all 0."""
    import tensorflow as tf

    shape = [2, dataset.label.values] if dataset.label.values > 1 else [2]
    labels = tf.zeros(shape, tf.int64 if dataset.classes else tf.float32)
    if dataset.is_multilabel:
        labels = tf.zeros([2, dataset.outputs])
    if sides := dataset.label.shape[:-1]:
        labels = tf.zeros([2, *sides], tf.int32)
    return labels, tf.zeros([2, *dataset.output_shape])


def read(address: str, sha256: str | None = None) -> OwnModel:
    """The model in a file (gs:// address or path). sha256: what its content must have.

    Raises ModelError if it is missing, has another content, or declares something wrong.
    """
    name = PurePosixPath(address).name
    try:
        text = storage.local_path(address).read_bytes()
    except OSError as error:
        raise ModelError(f"the model's file {address} cannot be read: {error.strerror}") from error
    if len(text) > _MAX_BYTES:
        raise ModelError(f"{address} has {len(text):,} bytes; a model's file has up to 1 MiB")
    found = hashlib.sha256(text).hexdigest()
    if sha256 not in (None, found):
        raise ModelError(
            f"{address} is not the file that the run was planned with: its SHA-256 is {found}, "
            f"expected {sha256}. Start a new run"
        )
    try:
        declared = model_file.read(text, hyperparameters.schema(Common), _is_installed)
        return OwnModel(name, text, declared)
    except ModelFileError as error:
        problems = "".join(f"\n  {mistake}" for mistake in error.mistakes)
        raise ModelError(f"{name} cannot be used as it is:{problems}") from error


def _is_installed(module: str) -> bool:
    """Return whether this image has a module, which is not imported; of ours, whether it should."""
    if model_imports.in_our_image(module):
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # ValueError: one that a test has taken away
        return False


def _unfit(model: Any, dataset: DatasetDescription, *, several: bool) -> str | None:
    """Return why a model cannot be trained and served; None if it can. several: whether it may have
    further outputs after its answer.
    """
    import keras

    from trainer.models import endings
    from trainer.models.unfit import unfit

    if not isinstance(model, keras.Model):
        return f"{type(model).__name__}, not a Keras model"
    if not getattr(model, "inputs", None):
        return (
            f"{type(model).__name__}, not a functional model: return keras.Model(inputs, outputs)"
        )
    if problem := unfit(model, dataset):
        return problem
    output = model.output
    if several and isinstance(output, list | tuple) and output:
        output = output[0]
    expected = (None, *dataset.output_shape)
    last = "layers.Conv2D(dataset.outputs, 1)" if dataset.label.shape else _LAST
    meaning = dataset.entry.outputs
    if not isinstance(output, keras.KerasTensor) or output.shape != expected:
        shape = getattr(output, "shape", type(output).__name__)
        return f"a model with output {shape}; expected {expected}, {meaning}: end with {last}"
    if output.dtype != "float32":
        return (
            f"a model with outputs of {output.dtype}; expected float32: give the last layer "
            'dtype="float32", also under mixed_precision'
        )
    if not model.trainable_weights:
        return "a model without trainable weights"
    if ending := endings.bounded(model):
        if not dataset.classes:
            return (
                f"a model that ends with {ending}, whose values are from 0 to 1; expected "
                f"{meaning}: end with {last}"
            )
        return f"a model that ends with {ending}; {endings.REMEDY}"
    return None

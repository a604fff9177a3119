"""What a SavedModel is made of: functions under the names of their signatures, and what these read.

In place of keras.export.ExportArchive, which also saves the Keras model, of which no signature is
made: TensorFlow then traces every function a second time, and writes the weights and most of the
graph twice. Without that, an export takes two thirds of the time, and half the bytes.
"""

from collections.abc import Mapping
from pathlib import Path

import keras
import tensorflow as tf


class Archive:
    """Collects the functions. model: whose variables they read; its lookup tables are found."""

    def __init__(self, model: keras.Model):
        self._read: list[tf.Module | keras.Model] = [model]
        self._functions: dict[str, tf.types.experimental.ConcreteFunction] = {}

    def track(self, module: tf.Module) -> None:
        """The functions also read this module's lookup tables."""
        self._read.append(module)

    def add(self, name: str, function: tf.types.experimental.PolymorphicFunction) -> None:
        """Add a `tf.function` that has an input signature; traces it."""
        self._functions[name] = function.get_concrete_function()

    def add_constants(self, name: str, values: Mapping) -> None:
        """Add a signature without inputs that returns these values."""
        constants = {key: tf.constant(value) for key, value in values.items()}

        @tf.function(autograph=False, input_signature=[])
        def tell() -> dict[str, tf.Tensor]:
            return {key: tf.identity(value) for key, value in constants.items()}

        self.add(name, tell)

    def write(self, folder: Path) -> None:
        """Write the SavedModel."""
        held = tf.Module()
        held.variables_read = self._variables()
        held.tables = [
            part
            for read in self._read
            for part in tf.train.TrackableView(read).descendants()
            if isinstance(part, tf.saved_model.experimental.TrackableResource)
        ]
        tf.saved_model.save(held, str(folder), signatures=self._functions)

    def _variables(self) -> list[tf.Variable]:
        """Return the variables of all functions, each once."""
        functions = self._functions.values()
        found = {id(each): each for f in functions for each in f.graph.variables}
        return list(found.values())

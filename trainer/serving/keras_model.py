"""Loads a SavedModel that trainer.training.saved_model wrote.

`load` imports TensorFlow, which takes seconds; importing this module does not.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trainer.serving import answers, signatures
from trainer.serving.explanations import Signature
from trainer.serving.image_explanations import PixelExplainer
from trainer.serving.model import Model, ModelError
from trainer.serving.row_explanations import RowExplainer
from trainer.serving.rows import RowReader
from trainer.serving.signatures import PIXELS, SERVING_DEFAULT, Packed
from trainer.tensorflow_import import import_tensorflow

_CLASSES = "classes"
_THRESHOLD = "threshold"
_GRADIENT = "gradient"
_TIMES = "times"


def load(directory: Path) -> Model:
    """Import TensorFlow and read the SavedModel. Raises ModelError."""
    # TensorFlow's C++ log only repeats its exceptions (3: fatal errors only).
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with _without_keras():
        import_tensorflow()
        import tensorflow as tf

    try:
        loaded = tf.saved_model.load(str(directory))
    except (OSError, tf.errors.OpError) as error:
        raise ModelError(f"{directory} holds no readable SavedModel: {error}") from error
    return of(tf, loaded)


def of(tensorflow: Any, loaded: Any) -> Model:
    """The model that `tensorflow` has loaded. Raises ModelError."""
    rows = signatures.reader(loaded.signatures)
    if rows is None:
        raise ModelError(
            f"the SavedModel has the signatures {', '.join(loaded.signatures) or 'none'}; expected "
            f"{', '.join(signatures.EXPECTED)}, as trainer.task writes them. A model of another "
            "release is served by the image of that release"
        )
    signature = loaded.signatures[PIXELS if rows.images else SERVING_DEFAULT]
    serve = _Serve(tensorflow, loaded, signature)
    names = loaded.signatures[_CLASSES]() if _CLASSES in loaded.signatures else {}
    classes = [name.decode() for name in names[_CLASSES].numpy()] if names else []
    family = answers.family_of(signature.structured_outputs)
    times = _numbers(loaded, _TIMES)
    explainer = None
    if answers.of(family).explained:
        explainer = _explainer(tensorflow, loaded.signatures, rows, serve)
    decided = _threshold(loaded)
    return Model(rows, serve, classes, family, decided, explainer, None, **times)


class _Serve(Packed):
    """The signature that answers requests."""

    def __init__(self, tensorflow: Any, loaded: Any, signature: Any):
        super().__init__(tensorflow, signature)
        # Keeps the variables alive: a signature does not own them.
        self._loaded = loaded


def _explainer(tensorflow: Any, known: Any, rows: RowReader, serve: Signature) -> RowExplainer:
    pixels = []
    if rows.images:
        gradient = Packed(tensorflow, known[_GRADIENT])
        pixels = [PixelExplainer(gradient, rows.fields[place]) for place in rows.images]
    ordinary = {name: value.numpy() for name, value in known[signatures.ORDINARY]().items()}
    return RowExplainer(serve, rows, ordinary, pixels)


def _threshold(loaded: Any) -> dict[str, Any] | None:
    if _THRESHOLD not in loaded.signatures:
        return None
    values = {key: value.numpy() for key, value in loaded.signatures[_THRESHOLD]().items()}
    return {"class": values["class"].decode(), "above": float(values["above"])}


def _numbers(loaded: Any, name: str) -> dict[str, tuple[float, ...]]:
    """Vectors of numbers that a signature without inputs returns; {} if there is none."""
    if name not in loaded.signatures:
        return {}
    return {key: tuple(value.numpy().tolist()) for key, value in loaded.signatures[name]().items()}


@contextmanager
def _without_keras() -> Iterator[None]:
    """Import TensorFlow without Keras, which a SavedModel does not need: Keras imports pandas and
    scikit-learn, a third of the time and a quarter of the memory.

    Meanwhile TensorFlow finds Keras not installed. A later import of Keras works.
    """
    if "keras" in sys.modules:
        yield
        return
    modules: dict[str, Any] = sys.modules
    modules["keras"] = None
    try:
        yield
    finally:
        del modules["keras"]

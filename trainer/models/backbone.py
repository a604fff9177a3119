"""A network of keras.applications (https://keras.io/api/applications) below an output layer; of
masks, as the contracting half of a U-Net.

With given weights it is trained in two phases (https://keras.io/guides/transfer_learning): first
what lies above the network alone, then the network's last layers with it, at a lower rate
(trainer.training.phases). Batch normalization keeps the statistics that came with the weights, in
training and serving alike, as does all else that acts in training only.

Without weights it is an ordinary model: all of it is trained from the start. Then its batch
normalization takes its statistics over all replicas' examples (trainer.training.distribution).

Nothing is downloaded here: a job need not reach the internet, and must not depend on it.
"""

import math
import shutil
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import layers

from trainer import storage
from trainer.models import ModelError, image_model, inputs, mask_model
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import Feature
from trellis_contracts.hyperparameters import Hyperparameters
from trellis_contracts.patches import BACKBONE_HALVINGS

NO_WEIGHTS = "none"
IMAGENET = "imagenet"
SUFFIX = ".weights.h5"

# Filters of the steps of the expanding half, the coarsest first, and size of its convolutions.
_EXPANDING = (256, 128, 64, 32, 16)
_KERNEL = 3


def build(dataset: DatasetDescription, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    # Before the network, which takes seconds to build.
    weights = None if h.weights == NO_WEIGHTS else _weights(h)
    if dataset.entry.of_pixels:
        return mask_model.build(
            dataset, h, lambda x: _with_masks(x, h, weights), "backbone", BACKBONE_HALVINGS
        )

    def body(x: keras.KerasTensor, feature: Feature) -> keras.KerasTensor:
        inner = _network_for(x, h)
        # Names are unique in a model, and each image of a row has a network.
        inner.name = f"{inner.name}_{feature.column}"
        return layers.Dropout(h.dropout)(_called(inner, inner, x, h, weights))

    return image_model.build(dataset, h, body, "backbone")


def _with_masks(
    x: keras.KerasTensor, h: Hyperparameters, weights: Path | None
) -> keras.KerasTensor:
    """Pixels (b, height, width, channels) to features of each, (b, height, width, any)."""
    inner = _network_for(x, h, pooling=None)
    steps = _steps(inner)
    halves = keras.Model(inner.inputs, steps, name=inner.name)
    *skipped, found = _called(halves, inner, x, h, weights)
    found = layers.Dropout(h.dropout)(found)
    # The finest step is the image's own pixels: not every network has features at its size.
    beside = [*skipped[::-1], x]
    return mask_model.expanded(found, beside, _EXPANDING[-len(beside) :], _KERNEL)


def _steps(inner: keras.Model) -> list[keras.KerasTensor]:
    """The last features of a network at each size of half an image and less, the largest first."""
    height = inner.inputs[0].shape[1]
    found = {}
    for layer in inner.layers:
        shape: Sequence[int] = getattr(layer.output, "shape", ())
        if len(shape) == 4 and not isinstance(layer, layers.ZeroPadding2D):
            # Networks without padding halve 75 pixels to 37.
            found[round(math.log2(height / shape[1]))] = layer.output
    # Means over all pixels, by which some networks weigh their features, are smaller still.
    return [found[halvings] for halvings in sorted(found) if 0 < halvings <= BACKBONE_HALVINGS]


def _called(
    part: keras.Model,
    inner: keras.Model,
    x: keras.KerasTensor,
    h: Hyperparameters,
    weights: Path | None,
) -> Any:
    """Call a part of a network, with the weights of a file if given, on pixels from -1 to 1."""
    x = layers.Rescaling(127.5, offset=127.5, dtype=inputs.FLOAT)(x)
    if x.shape[-1] == 1:
        x = layers.Concatenate()([x] * 3)
    x = preprocessing(h.backbone)(x)
    if weights is None:
        return part(x)
    _load(inner, weights, h)
    _freeze(inner, h.unfrozen_layers)
    return part(x, training=False)


def _network_for(
    pixels: keras.KerasTensor, h: Hyperparameters, pooling: str | None = "avg"
) -> keras.Model:
    _, height, width, _ = pixels.shape
    try:
        return network(h.backbone, (height, width, 3), pooling)
    except ValueError as error:
        raise ModelError(
            f"backbone={h.backbone} does not take {height}x{width} images: {error}"
        ) from error


def network(name: str, shape: tuple[int, int, int], pooling: str | None = "avg") -> keras.Model:
    """A network with random weights: preprocessed images (b, *shape) to features (b, any), without
    pooling (b, height, width, any).

    Raises ValueError if it does not take images of this shape.
    """
    make = getattr(keras.applications, name)
    return make(weights=None, include_top=False, input_shape=shape, pooling=pooling)


def preprocessing(name: str) -> Callable[[keras.KerasTensor], keras.KerasTensor]:
    """Return the layer that turns pixels from 0 to 255, (b, height, width, 3) float32, into a
    network's input.
    """
    if module(name).__name__.endswith(".efficientnet"):
        return _efficientnet
    return module(name).preprocess_input


def module(name: str) -> types.ModuleType:
    """The module of keras.applications that a network is in."""
    return sys.modules[getattr(keras.applications, name).__module__]


def _efficientnet(pixels: keras.KerasTensor) -> keras.KerasTensor:
    """Pixels so that the network sees those it was trained with.

    Its normalization layer, whose numbers are among ImageNet's weights, divides by the square root
    of the standard deviation, where the network was trained with pixels divided by the deviation.
    Keras adds a layer for that, but only where it downloads the weights itself.
    """
    mean = 255 * np.array([0.485, 0.456, 0.406])
    root = np.sqrt([0.229, 0.224, 0.225])
    return layers.Rescaling(
        (1 / root).tolist(), offset=(mean - mean / root).tolist(), dtype=inputs.FLOAT
    )(pixels)


def _freeze(inner: keras.Model, unfrozen: int) -> None:
    """Leave the last `unfrozen` layers trainable, not counting those without weights to train and
    batch normalization.
    """
    counted = [
        layer
        for layer in inner.layers
        if layer.trainable_weights and not isinstance(layer, keras.layers.BatchNormalization)
    ]
    trainable = {id(layer) for layer in counted[max(0, len(counted) - unfrozen) :]}
    for layer in inner.layers:
        layer.trainable = id(layer) in trainable


def _making(h: Hyperparameters) -> str:
    return f"`python -m trainer weights {h.backbone}` makes it, where there is internet access"


def _weights(h: Hyperparameters) -> Path:
    """The file of weights. Raises ModelError if there is none."""
    make = _making(h)
    if h.weights == IMAGENET:
        raise ModelError(
            f"weights=imagenet: a training downloads nothing. Name the file: {make}; experiments "
            "find it in gs://BUCKET/_weights/"
        )
    address = _address(h)
    try:
        path = storage.local_path(address)
    except storage.StorageError as error:
        raise ModelError(f"weights: {error}") from error
    if not path.is_file():
        raise ModelError(f"weights: there is no {address}. {make}")
    return path


def _address(h: Hyperparameters) -> str:
    if h.weights.endswith(".h5"):
        return h.weights
    return storage.join(h.weights, h.backbone + SUFFIX)


def _load(inner: keras.Model, path: Path, h: Hyperparameters) -> None:
    """Raises ModelError if the file is of another network."""
    with tempfile.TemporaryDirectory() as folder:
        # The file is read here and there, which a mounted bucket is slow at.
        local = shutil.copy(path, Path(folder, path.name))
        try:
            with warnings.catch_warnings():
                # Keras only warns of layers that it finds no weights for.
                warnings.simplefilter("error", UserWarning)
                inner.load_weights(local)
        except (ValueError, OSError, KeyError, UserWarning) as error:
            reason = str(error).partition("\n")[0]
            raise ModelError(
                f"weights: {_address(h)} is no file of weights for {h.backbone}: {reason}. "
                f"{_making(h)}"
            ) from error

"""Models of masks: what they take and answer, and tiles that say what the whole image does."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer import models
from trainer.models import ModelError, answering, backbone, mask_model, tiling, unet
from trainer.models.tiling import PatchModel
from trainer.training import phases, sample
from trellis_contracts import hyperparameters
from trellis_contracts.hyperparameters import Hyperparameters


def dataset(shape=(48, 64, 1), classes=3):
    return sample.images(shape, "segmentation", classes)


def built(shape=(48, 64, 1), model="unet", **values):
    values = {"blocks": 2, "filters": 4, **values} if model == "unet" else values
    return models.build(model, dataset(shape), Hyperparameters(**values))


def pixels(shape, count=2, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, *shape)).astype(np.uint8)


@pytest.mark.parametrize("shape", [(48, 64, 1), (50, 61, 3), (7, 5, 1)])
def test_there_is_a_logit_for_each_pixel_and_class(shape):
    model = built(shape)
    assert model.output.shape == (None, *shape[:2], 3)
    assert model({"image": pixels(shape)}).shape == (2, *shape[:2], 3)


def of_tiles(shape, patch, **values):
    """A model of whole images, and one of patches with its weights, as it answers."""
    whole, patches = built(shape, **values), built(shape, patch=patch, **values)
    patches.set_weights(whole.get_weights())
    return whole, patches


@pytest.mark.parametrize(
    ("shape", "patch"),
    [
        *[((96, 128, 1), 64), ((64, 64, 1), 64), ((160, 100, 1), 96)],
        pytest.param((256, 512, 1), 256, marks=pytest.mark.slow),
        pytest.param((640, 512, 1), 256, marks=pytest.mark.slow),
    ],
)
def test_tiles_are_to_rounding_what_the_whole_image_is(shape, patch):
    """With blocks=1 nothing is further away than the margin, a quarter of a tile."""
    whole, patches = of_tiles(shape, patch, blocks=1)
    assert unet.reach(1, 3) <= mask_model.margin(patch, 2, unet.reach(1, 3)) <= patch // 4
    taken = {"image": pixels(shape)}
    found = answering.of(patches)(taken, training=False)
    np.testing.assert_allclose(found, whole(taken, training=False), atol=1e-5)


def test_without_a_margin_tiles_would_differ():
    whole, patches = of_tiles((96, 128, 1), 64, blocks=1)
    patches.whole = (96, 128), 0
    taken = {"image": pixels((96, 128, 1))}
    found = answering.of(patches)(taken, training=False)
    assert np.abs(found - whole(taken, training=False)).max() > 1e-2


def test_nothing_is_further_away_than_the_reach():
    model = built((64, 64, 1), blocks=2)
    black = np.zeros((1, 64, 64, 1), np.uint8)
    for row in (30, 31, 33):
        light = black.copy()
        light[0, row, 0] = 255
        found, dark = (model({"image": one}).numpy() for one in (light, black))
        changed = np.flatnonzero((found != dark).any(axis=(0, 2, 3)))
        assert max(row - changed[0], changed[-1] - row) <= unet.reach(2, 3)


@pytest.mark.parametrize(("size", "side", "margin"), [(64, 64, 16), (96, 64, 16), (200, 64, 8)])
def test_tiles_have_every_pixel_once_and_keep_their_margins(size, side, margin):
    found = tiling.places(size, side, margin)
    own = [pixel for _, first, last in found for pixel in range(first, last)]
    assert own == list(range(size))
    for begin, first, last in found:
        assert first - begin >= (margin if begin else 0)
        assert begin + side - last >= (margin if begin + side < size else 0)


def test_a_model_of_patches_takes_patches_and_answers_for_images():
    model = built((48, 64, 1), patch=32)
    assert isinstance(model, PatchModel)
    assert model({"image": pixels((32, 32, 1))}).shape == (2, 32, 32, 3)
    assert answering.of(model)({"image": pixels((48, 64, 1))}).shape == (2, 48, 64, 3)


@pytest.mark.parametrize(
    ("shape", "values", "message"),
    [
        ((48, 64, 1), {"patch": 30}, "use a multiple of 4, such as 32"),
        ((48, 64, 1), {"patch": 64}, "use at most 48"),
        ((50, 64, 1), {"patch": 32}, "50 x 64 images have no such sides"),
        ((3, 64, 1), {}, "cannot be halved 2 times"),
    ],
)
def test_what_does_not_fit_is_refused(shape, values, message):
    with pytest.raises(ModelError, match=message):
        built(shape, **values)


NETWORKS = hyperparameters.schema()["backbone"]["least_side"]
# The fastest to build of those with batch normalization.
SMALL = "MobileNet"
OTHERS = [name for name in NETWORKS if name != SMALL]


@pytest.mark.parametrize(
    "name", [SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
def test_every_network_of_keras_learns_as_the_contracting_half(name):
    """A step on images of the least side, and of an odd one: sizes that halve, and that do not."""
    shape = (NETWORKS[name], NETWORKS[name] + 19, 3)
    model = built(shape, "backbone", backbone=name)
    images = {"image": pixels(shape)}
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(tf.eye(3)[0], logits))
    assert logits.shape == (2, *shape[:2], 3)
    gradients = tape.gradient(loss, model.trainable_variables)
    assert all(np.isfinite(gradient).all() for gradient in gradients if gradient is not None)
    # The first of the encoder's learns, too.
    assert np.any(gradients[0])
    keras.optimizers.SGD(0.01).apply_gradients(
        zip(gradients, model.trainable_variables, strict=True)
    )
    assert np.isfinite(model(images)).all()


def test_what_expands_is_trained_before_a_given_encoder(tmp_path):
    network = backbone.network(SMALL, (64, 64, 3), pooling=None)
    network.save_weights(tmp_path / f"{SMALL}.weights.h5")
    given = {"backbone": SMALL, "weights": str(tmp_path), "unfrozen_layers": 2}
    model = built((64, 64, 3), "backbone", head_epochs=2, **given)
    h = Hyperparameters(head_epochs=2, **given)
    (encoder,) = (layer for layer in model.layers if isinstance(layer, keras.Model))
    first, second = phases.of(model, "backbone", h)
    of_encoder = {id(variable) for variable in encoder.trainable_variables}
    assert len(of_encoder) == 2  # the kernels of two convolutions
    assert not of_encoder & {id(variable) for variable in first.variables}
    assert of_encoder < {id(variable) for variable in second.variables}
    taken = np.random.default_rng(0).uniform(-1, 1, (1, 64, 64, 3)).astype(np.float32)
    np.testing.assert_allclose(encoder(taken)[-1], network(taken), atol=1e-5)

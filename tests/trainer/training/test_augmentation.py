"""Augmentation of a training's images, and the labels of mixed images."""

import json

import numpy as np
import pytest
import tensorflow as tf

from testbed.trainings import arguments, without_seconds
from tests.trainer.training.test_objectives import of_classes
from trainer.estimators import run
from trainer.training import checkpoints, loop, objectives, patches
from trainer.training.augmentation import Augmentation, ImageAugmentation, Mixed
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trainer.training.objectives.objective import of_mixed
from trellis_contracts.dataset_features import Feature
from trellis_contracts.hyperparameters import Hyperparameters

SEED = tf.constant([3, 4], tf.int64)
LABELS = tf.range(8, dtype=tf.int64)


def noise(channels=3):
    random = np.random.default_rng(0)
    return tf.constant(random.integers(0, 256, (8, 20, 30, channels)).astype(np.uint8))


def varied(images, seed=SEED, **h):
    return ImageAugmentation(Hyperparameters(**h))(images, LABELS, seed)


@pytest.mark.parametrize("channels", [1, 3])
def test_randaugment_is_a_function_of_the_seed(channels):
    images = noise(channels)
    # Most pairs of operations change noise.
    seeds = [tf.constant([3, number], tf.int64) for number in range(2)]
    once, again = ([varied(images, s, rand_augment=0.5)[0] for s in seeds] for _ in range(2))
    for first, second in zip(once, again, strict=True):
        assert (first.dtype, first.shape) == (tf.uint8, images.shape)
        np.testing.assert_array_equal(first, second)
    assert len({np.asarray(each).tobytes() for each in [images, *once]}) >= 2


def test_mixup_is_a_weighted_mean_of_two_images():
    images = noise()
    mixed, labels = varied(images, mix="mixup", mix_alpha=1)
    np.testing.assert_array_equal(labels.first, LABELS)
    assert sorted(labels.second.numpy()) == list(range(8))
    share = labels.share.numpy()[:, None, None, None]
    assert np.std(share) > 0.05
    expected = share * images.numpy() + (1 - share) * images.numpy()[labels.second.numpy()]
    np.testing.assert_allclose(mixed.numpy(), expected, atol=0.51)


@pytest.mark.parametrize("h", [{"mix": "mixup", "mix_alpha": 1}, {"rand_augment": 0.5}])
def test_deep_images_are_varied_as_those_of_8_bits(h):
    images = noise()
    deep = tf.cast(images, tf.uint16) * 257
    shallow, _ = ImageAugmentation(Hyperparameters(**h))(images, LABELS, SEED)
    found, _ = ImageAugmentation(Hyperparameters(**h), white=65535)(deep, LABELS, SEED)
    assert (found.dtype, found.shape) == (tf.uint16, images.shape)
    np.testing.assert_allclose(found.numpy() / 257, shallow.numpy(), atol=0.51)


def test_mixtures_of_deep_images_have_more_than_256_levels():
    deep = tf.cast(noise(), tf.uint16) * 257
    found, _ = ImageAugmentation(Hyperparameters(mix="mixup", mix_alpha=1), 65535)(
        deep, LABELS, SEED
    )
    assert (found.numpy() % 257 != 0).any()


def test_cutmix_is_a_rectangle_of_one_image_in_another():
    images = noise()
    mixed, labels = varied(images, mix="cutmix", mix_alpha=1)
    partners = images.numpy()[labels.second.numpy()]
    own = (mixed == images).numpy().all(-1)
    assert (own | (mixed.numpy() == partners).all(-1)).all()
    others = labels.second.numpy() != LABELS.numpy()
    # A rectangle's edges lie between pixels: off by one row and one column at most.
    shares = own.mean((1, 2))[others]
    np.testing.assert_allclose(labels.share.numpy()[others], shares, atol=1 / 20 + 1 / 30)


def test_a_mixed_image_counts_for_both_labels_by_their_shares():
    outputs = tf.constant([[2.0, 0.0], [0.0, 1.0]])
    labels = Mixed(
        tf.constant([0, 1], tf.int64), tf.constant([1, 1], tf.int64), tf.constant([0.75, 0.3])
    )
    aim = objectives.build(of_classes(1, 1), Hyperparameters(label_smoothing=0.1))
    soft = np.array([[0.75, 0.25], [0, 1]]) * 0.9 + 0.05
    expected = tf.nn.softmax_cross_entropy_with_logits(soft.astype(np.float32), outputs)
    np.testing.assert_allclose(of_mixed(aim.losses, labels, outputs), expected, rtol=1e-6)
    _, hits = of_mixed(aim.measures, labels, outputs)
    np.testing.assert_allclose(hits, [0.75, 1])


class Interruption(BaseException):
    """Ends a training as a kill would."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_interrupted_training_ends_as_an_undisturbed_one(few_digits, tmp_path, monkeypatch):
    """The training recognizes its digits, too, though it has never seen one unchanged."""

    def train(output):
        flags = {"rand_augment": 0.1, "mix": "mixup", "learning_rate": 0.01, "epochs": 12}
        flags |= {"batch_size": 16, "accumulation": 2, "outputs": "metrics"}
        settings = parse_flags(arguments(few_digits, output=tmp_path / output, **flags), "")
        assert run.train(settings, checked_dataset(settings)) == 0
        return without_seconds(json.loads(settings.places.metrics.read_text()))

    undisturbed = train("undisturbed")
    assert undisturbed["validation"]["accuracy"] >= 0.75
    saves = []

    def save(*content):
        written(*content)
        saves.append(1)
        if len(saves) == 2:
            raise Interruption

    written = checkpoints.save
    with monkeypatch.context() as patch:
        patch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
        patch.setattr(checkpoints, "save", save)
        with pytest.raises(Interruption):
            train("interrupted")
    assert train("interrupted") == undisturbed


def of_rows(h, *columns):
    features = [Feature(c, "image", "uint8", "png", (20, 30, 3), c) for c in columns]
    return Augmentation(Hyperparameters(**h), features)


@pytest.mark.parametrize("h", [{"augment": True}, {"flip": True}, {"rand_augment": 0.5}])
def test_every_image_of_a_row_is_varied_by_itself_and_nothing_else(h):
    inputs = {"image_left": noise(), "image_right": noise(), "numeric": tf.ones([8, 2])}
    vary = of_rows(h, "left", "right")
    assert vary.varies
    found, labels = vary(inputs, LABELS, SEED)
    np.testing.assert_array_equal(labels, LABELS)
    np.testing.assert_array_equal(found["numeric"], inputs["numeric"])
    assert not np.array_equal(found["image_left"], inputs["image_left"])
    assert not np.array_equal(found["image_left"], found["image_right"])
    again, _ = vary(inputs, LABELS, SEED)
    np.testing.assert_array_equal(again["image_right"], found["image_right"])


def test_the_first_image_of_a_row_is_varied_as_a_manifests():
    h = {"augment": True, "flip": True}
    found, _ = of_rows(h, "photo")({"image_photo": noise()}, LABELS, SEED)
    np.testing.assert_array_equal(found["image_photo"], varied(noise(), **h)[0])


def test_rows_without_images_are_not_varied():
    assert not of_rows({"augment": True}).varies


def test_an_image_that_a_model_does_not_read_is_passed_over():
    found, _ = of_rows({"flip": True}, "a", "b")({"image_b": noise()}, LABELS, SEED)
    assert set(found) == {"image_b"}
    assert not np.array_equal(found["image_b"], noise())


def test_rows_of_one_image_are_mixed_with_their_labels():
    h = {"mix": "mixup", "mix_alpha": 1}
    found, labels = of_rows(h, "photo")({"image_photo": noise()}, LABELS, SEED)
    alone, expected = varied(noise(), **h)
    np.testing.assert_array_equal(found["image_photo"], alone)
    np.testing.assert_array_equal(labels.second, expected.second)


def test_a_patch_is_cut_of_image_and_mask_at_the_same_random_place():
    masks = tf.constant(np.random.default_rng(0).integers(0, 255, (64, 12, 16)), tf.uint8)
    seed = tf.constant([3, 4], tf.int64)
    inputs, cut = patches.cut({"image": masks[..., None]}, masks, "image", 8, seed)
    np.testing.assert_array_equal(inputs["image"][..., 0], cut)
    found = set()
    for patch, mask in zip(cut.numpy(), masks.numpy(), strict=True):
        places = [
            (row, column)
            for row in range(5)
            for column in range(9)
            if np.array_equal(mask[row : row + 8, column : column + 8], patch)
        ]
        found.update(places)
        assert len(places) == 1
    assert {row for row, _ in found} == {*range(5)}
    assert {column for _, column in found} == {*range(9)}
    again = patches.cut({"image": masks[..., None]}, masks, "image", 8, seed)[1]
    np.testing.assert_array_equal(again, cut)

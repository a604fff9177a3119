"""Masks on their way to a model: each stays with its image, also where images are varied."""

from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import tensorflow as tf

from testbed.manifests import export_flags
from trainer import dataset_description, export
from trainer.models.image_inputs import image_input
from trainer.stored import batches
from trainer.training import kept, records
from trainer.training.augmentation import Augmentation
from trainer.training.input_pipeline import Input
from trellis_contracts.columns import MaskClass
from trellis_contracts.dataset_features import Feature
from trellis_contracts.hyperparameters import Hyperparameters

KNOWN = tuple(MaskClass(name, value) for value, name in enumerate(("ground", "cell", "debris")))
SIZE, COUNT, STEP, BATCH = (16, 12), 90, 100, 7
VARIED = {"augment": True, "flip": True}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Images that are STEP times as bright as their masks."""
    folder = tmp_path_factory.mktemp("masks")
    random = np.random.default_rng(0)
    lines = []
    for number in range(COUNT):
        mask = random.integers(0, 3, SIZE).astype(np.uint8)
        for name, pixels in (("image", mask * STEP), ("mask", mask)):
            file = folder / f"{name}{number}.png"
            file.write_bytes(cv2.imencode(".png", pixels)[1].tobytes())
        lines.append(f"image{number}.png,mask{number}.png\n")
    (folder / "manifest.csv").write_text("".join(lines))
    form = {"image_size": SIZE, "channels": 1, "encoding": "png", "shards": 2, "masks": KNOWN}
    form |= {"task": "segmentation", "split_fractions": (60, 20, 20)}
    assert export.main(export_flags(folder / "manifest.csv", folder / "out", "f1", **form)) == 0
    return str(folder / "out")


@pytest.fixture(params=["kept", "read in every epoch"])
def memory(request, monkeypatch):
    if request.param != "kept":
        monkeypatch.setattr(kept, "free_memory", lambda: 0)
        monkeypatch.setattr(kept, "free_disk", lambda: 0)


def pipeline(address, **h):
    distribution = SimpleNamespace(cluster=range(1), local_replicas=1, replicas=1)
    dataset = dataset_description.load(address)
    return Input(address, dataset, distribution, Hyperparameters(batch_size=BATCH, **h), 0, 2)


def only_worker():
    return tf.distribute.InputContext(1, 0, 1)


@pytest.mark.parametrize("h", [{}, VARIED])
def test_a_mask_goes_with_its_image_whatever_is_done_to_it(address, memory, h):
    seen = []
    for inputs, masks, weights in pipeline(address, **h).train_batches(only_worker(), 0):
        assert (masks.dtype, masks.shape) == (tf.uint8, (BATCH, *SIZE))
        np.testing.assert_array_equal(inputs["image"][..., 0], masks * STEP)
        np.testing.assert_array_equal(weights, np.ones(BATCH))
        seen += [mask.tobytes() for mask in masks.numpy()]
    known = {mask.tobytes() for mask in stored(address)}
    assert len(known) == len({*known})
    # In both epochs, and as they are only where nothing is varied.
    assert len(seen) == 2 * (len(known) // BATCH) * BATCH
    assert ({*seen} <= known) == (not h)


def stored(address):
    dataset = dataset_description.load(address)
    (batch,) = batches(address, dataset, "train", COUNT)
    assert (batch.labels.dtype, batch.labels.shape[1:]) == (np.uint8, SIZE)
    return batch.labels


def test_an_evaluation_takes_every_mask_once_and_fills_up_with_background(address, memory):
    data = pipeline(address)
    steps = data.evaluation_steps("validation")
    found = data.evaluation_batches(only_worker(), "validation").take(steps)
    masks, weights = (np.concatenate(part) for part in zip(*([*b[1:]] for b in found), strict=True))
    assert weights.sum() == data.examples("validation") < len(weights)
    assert len({mask.tobytes() for mask in masks[weights == 1]}) == data.examples("validation")


def test_the_memory_of_masks_is_counted(address):
    dataset = dataset_description.load(address)
    pixels = SIZE[0] * SIZE[1]
    assert records.Records(dataset).example_bytes == 2 * pixels + tf.float32.size


def test_all_images_of_a_row_are_varied_as_the_mask_is():
    features = [Feature(name, "image", "uint8", "png", (*SIZE, 1), name) for name in ("a", "b")]
    random = np.random.default_rng(0)
    masks = tf.constant(random.integers(0, 3, (8, *SIZE)).astype(np.uint8))
    inputs = {image_input(feature): masks[..., None] * 9 for feature in features}
    vary = Augmentation(Hyperparameters(**VARIED), features, masks=True)
    found, answers = vary(inputs, masks, tf.constant([3, 4], tf.int64))
    assert not np.array_equal(answers, masks)
    for images in found.values():
        np.testing.assert_array_equal(images[..., 0], answers * 9)

"""The family of masks."""

import base64

import numpy as np

from trainer import storage
from trainer.families import Family
from trainer.masks import encode, pixels
from trainer.metrics import (
    masks,
    segmentation,
)
from trainer.metrics.segmentation import MaskOutcome
from trainer.prediction_forms.segmentation import Masks
from trellis_contracts import layout, tasks


class Of(Family):
    """A mask: (n, 3, classes) what the metrics need of it (trainer.metrics.masks)."""

    name, form = tasks.SEGMENTATION, Masks
    loss, lone = "dice", "masks of background"

    def metrics(self, classes=()):
        return segmentation.SEGMENTATION_METRICS

    def part_of(self, metric, part, classes):
        known = classes[1:]
        return segmentation.of_class(metric, part, 1 + known.index(part)) if part in known else None

    def named(self, label, classes):
        counts = (f"{name} {count}" for name, count in zip(classes, label, strict=True) if count)
        return f"a mask of {', '.join(counts)} pixels"

    def truth(self, dataset, labels):
        return pixels(labels, len(dataset.classes))

    def found(self, dataset, labels, answers):
        return masks.compared(labels, answers, len(dataset.classes))

    def predictions(self, about, keys, labels, answers, threshold=None):
        predicted, both, distances = answers.swapaxes(0, 1)
        return Masks(keys, labels, predicted, both, distances, about.classes)

    def outcome(self, labels, answers, groups=None, threshold=None, label=None):
        predicted, both, distances = answers.swapaxes(0, 1)
        return MaskOutcome(labels, predicted, both, distances, groups)

    def answers(self, predictions):
        parts = (predictions.predicted, predictions.both, predictions.distances)
        return np.stack(parts, axis=1)

    def figures(self, dataset, labels, answers, threshold):
        found = segmentation.exact(self.outcome(labels, answers))
        # Programs have no loss that is trained, and masks no cross-entropy.
        return found | {"loss": 1 - found[self.loss]} if self.loss in found else found

    def served(self, found, order):
        # Pixels of a class that the dataset has elsewhere.
        places = np.argsort(order).astype(np.uint8)
        return places[found["mask"]]

    def response(self, predictions, place, done, label):
        pixels = predictions.predicted[place]
        shares = (pixels / pixels.sum()).tolist()
        return {"shares": dict(zip(predictions.classes, shares, strict=True))}

    def files(self, folder, keys, answers):
        for key, mask in zip(keys, answers, strict=True):
            yield layout.mask(folder, key), encode(mask)

    def beside(self, folder, key):
        png = storage.local_path(layout.mask(folder, key)).read_bytes()
        return {"mask": {"b64": base64.b64encode(png).decode()}}

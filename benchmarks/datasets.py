"""Image datasets of random drawings, as trainer.export writes them."""

import cv2
import numpy as np

from testbed.trainings import write_dataset


def make_dataset(folder, side, channels, count, encoding):
    """Smooth random images: they encode to about the size that drawings and photographs have."""
    random = np.random.default_rng(0)
    coarse = random.integers(0, 256, (count, max(2, side // 8), max(2, side // 8), channels))
    images = np.stack(
        [
            cv2.resize(image.astype(np.uint8), (side, side)).reshape(side, side, channels)
            for image in coarse
        ]
    )
    quarter, tenth = count // 5, count // 10
    files = {"train": [quarter] * 4, "validation": [tenth], "test": [tenth]}
    labels = random.integers(0, 10, count)
    return write_dataset(folder, images, labels, files=files, encoding=encoding)

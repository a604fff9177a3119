"""Uploads made-up animals to the bucket: 300 colour pictures of 64x64 pixels, two classes.

A head in any colour: a cat's ears are triangles that stand, a dog's ellipses that hang. Runs in the
trainer environment with the variables of `local_gcp env`; demo/pictures.py says what it writes.

    python -m demo.cats_vs_dogs_data gs://BUCKET/cats-vs-dogs/
"""

import sys
from collections.abc import Iterator

import cv2
import numpy as np

from demo import pictures

SIDE = 64
OF_EACH = 150


def main(folder: str) -> None:
    pictures.load(folder, animals)


def animals() -> Iterator[tuple[str, str, np.ndarray]]:
    """(name, label, pixels) of each animal, the same at every call."""
    random = np.random.default_rng(1)
    for number in range(OF_EACH):
        for name in ("cat", "dog"):
            yield f"{name}-{number:03d}", name, _animal(name, random)


def _animal(name: str, random: np.random.Generator) -> np.ndarray:
    ground = random.integers(0, 100, 3)
    coat = tuple(int(value) for value in random.integers(140, 256, 3))
    pixels = np.full((SIDE, SIDE, 3), ground, np.uint8)
    x, y = (int(at) for at in random.integers(28, 37, 2))
    radius = int(random.integers(12, 17))
    cv2.circle(pixels, (x, y), radius, coat, -1)
    for side in (-1, 1):
        if name == "cat":
            ear = [
                (x + side * radius, y),
                (x + side * radius, y - 2 * radius + 4),
                (x, y - radius + 1),
            ]
            cv2.fillPoly(pixels, [np.array(ear, np.int32)], coat)
        else:
            centre = (x + side * (radius + 3), y + 5)
            cv2.ellipse(pixels, centre, (5, radius), 0, 0, 360, coat, -1)
    noisy = pixels + random.normal(0, 12, pixels.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


if __name__ == "__main__":
    main(sys.argv[1])

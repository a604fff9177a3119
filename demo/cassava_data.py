"""Uploads made-up leaves to the bucket: 400 colour pictures of 64x64 pixels, five classes.

They have the names of Kaggle's five classes of cassava leaves, and what a disease does to a leaf in
words: brown streaks, brown spots, a pale leaf, yellow patches, or nothing. Runs in the trainer
environment with the variables of `local_gcp env`; demo/pictures.py says what it writes.

    python -m demo.cassava_data gs://BUCKET/cassava/
"""

import sys
from collections.abc import Iterator

import cv2
import numpy as np

from demo import pictures

SIDE = 64
CLASSES = ("bacterial_blight", "brown_streak", "green_mottle", "mosaic", "healthy")
OF_EACH = 80
BROWN, YELLOW = (30, 60, 110), (60, 200, 220)  # blue, green, red


def main(folder: str) -> None:
    pictures.load(folder, leaves)


def leaves() -> Iterator[tuple[str, str, np.ndarray]]:
    """(name, label, pixels) of each leaf, the same at every call."""
    random = np.random.default_rng(1)
    for number in range(OF_EACH):
        for name in CLASSES:
            yield f"{name}-{number:03d}", name, _leaf(name, random)


def _leaf(name: str, random: np.random.Generator) -> np.ndarray:
    pixels = np.full((SIDE, SIDE, 3), 90, np.uint8)
    green = (40, int(random.integers(120, 160)), 50)
    if name == "green_mottle":
        green = (130, 200, 150)
    axes = (int(random.integers(22, 30)), int(random.integers(14, 20)))
    angle = float(random.uniform(0, 180))
    leaf = np.zeros((SIDE, SIDE), np.uint8)
    cv2.ellipse(leaf, (SIDE // 2, SIDE // 2), axes, angle, 0, 360, 255, -1)
    marked = np.full_like(pixels, green)
    for _ in range(12):
        x, y = (int(at) for at in random.integers(8, SIDE - 8, 2))
        if name == "bacterial_blight":
            cv2.circle(marked, (x, y), 3, BROWN, -1)
        elif name == "brown_streak":
            cv2.line(marked, (x, y - 12), (x + 3, y + 12), BROWN, 2)
        elif name == "mosaic":
            cv2.rectangle(marked, (x - 5, y - 5), (x + 5, y + 5), YELLOW, -1)
    pixels[leaf > 0] = marked[leaf > 0]
    noisy = pixels + random.normal(0, 12, pixels.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


if __name__ == "__main__":
    main(sys.argv[1])

"""Uploads made-up pictures of cells and the masks of the cells: 400 grey ones of 64 x 64 pixels.

A cell is an ellipse, brighter than the ground around it. The light falls off from one side of a
picture to the other, by about as much as a cell is brighter, and debris, small and bright, is no
cell: a threshold for the whole picture (Otsu's) finds cells with a Dice coefficient of about 0.6.
Every twentieth picture has no cell. A slide has four pictures, with the same light.

Runs in the trainer environment with the variables of `local_gcp env`. It writes

FOLDER/images/NAME.png   the pictures
FOLDER/masks/NAME.png    their masks: 255 where a cell is, else 0
FOLDER/manifest.csv      gs://.../images/NAME.png,gs://.../masks/NAME.png,SLIDE

    python -m demo.cells_data gs://BUCKET/cells/
"""

import sys
from collections.abc import Iterator

import cv2
import numpy as np

from demo import pictures

SIDE = 64
SLIDES, OF_EACH = 100, 4
CELL = 255
"""The value of a cell's pixels in a mask."""

_EMPTY = 20
"""One picture in so many has no cell."""


def main(folder: str) -> None:
    if pictures.exists(folder):
        return
    made = list(cells())
    masks = pictures.upload(folder, ((name, mask) for name, _, _, mask in made), "masks")
    labels = iter(masks)
    pictures.load(
        folder,
        lambda: ((name, f"{next(labels)},{slide}", pixels) for name, slide, pixels, _ in made),
    )


def cells() -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """(name, slide, picture, mask) of each, both (SIDE, SIDE) uint8, the same at every call."""
    random = np.random.default_rng(37)
    for slide in range(SLIDES):
        light = _light(random)
        for number in range(OF_EACH):
            empty = (slide * OF_EACH + number) % _EMPTY == _EMPTY - 1
            pixels, mask = _picture(0 if empty else int(random.integers(3, 9)), light, random)
            yield f"{slide:03d}-{number}", f"slide {slide}", pixels, mask


def _light(random: np.random.Generator) -> np.ndarray:
    """Brightness of the ground: rising in some direction."""
    rows, columns = np.mgrid[:SIDE, :SIDE] / (SIDE - 1) - 0.5
    angle = random.uniform(0, 2 * np.pi)
    rise = random.uniform(45, 70)
    return 90 + rise * (np.cos(angle) * columns + np.sin(angle) * rows)


def _picture(
    count: int, light: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    mask = np.zeros((SIDE, SIDE), np.uint8)
    raised = np.zeros((SIDE, SIDE))
    for _ in range(count):
        centre = tuple(int(at) for at in random.integers(4, SIDE - 4, 2))
        axes = tuple(int(half) for half in random.integers(4, 9, 2))
        drawn = np.zeros_like(mask)
        cv2.ellipse(drawn, centre, axes, int(random.integers(180)), 0, 360, 1, -1)
        mask[drawn == 1] = CELL
        raised = np.maximum(raised, drawn * random.uniform(50, 70))
    raised = cv2.GaussianBlur(raised, (0, 0), 0.8)
    debris = np.zeros((SIDE, SIDE))
    for _ in range(int(random.integers(4, 12))):
        centre = tuple(int(at) for at in random.integers(0, SIDE, 2))
        cv2.circle(debris, centre, int(random.integers(1, 3)), random.uniform(60, 120), -1)
    debris[mask > 0] = 0
    noise = random.normal(0, 6, light.shape)
    return np.clip(light + raised + debris + noise, 0, 255).astype(np.uint8), mask


if __name__ == "__main__":
    main(sys.argv[1])

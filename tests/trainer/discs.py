"""Pictures of bright discs with their number as label: what only the whole picture tells."""

from pathlib import Path

import cv2
import numpy as np

SIDE = 24
MOST = 6


def pictures(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(count, SIDE, SIDE, 1) uint8 and (count,) int: 1 to MOST discs that do not touch, on noise.

    Size and brightness vary, so that the sum of all pixels tells their number badly.
    """
    random = np.random.default_rng(seed)
    made = [_picture(random, number) for number in random.integers(1, MOST + 1, count)]
    return np.stack([pixels for pixels, _ in made]), np.array([number for _, number in made])


def write(folder: Path, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Write so many pictures and their manifest.csv; returns them, in the order of the lines."""
    images, numbers = pictures(count)
    (folder / "images").mkdir(parents=True)
    lines = []
    for index, (pixels, number) in enumerate(zip(images, numbers, strict=True)):
        name = f"images/{index:05d}.png"
        (folder / name).write_bytes(cv2.imencode(".png", pixels)[1].tobytes())
        lines.append(f"{name},{number}\n")
    (folder / "manifest.csv").write_text("".join(lines))
    return images, numbers


def _picture(random: np.random.Generator, number: int) -> tuple[np.ndarray, int]:
    pixels = random.normal(30, 6, (SIDE, SIDE))
    rows, columns = np.mgrid[:SIDE, :SIDE]
    placed: list[tuple[float, float, float]] = []
    while len(placed) < number:
        radius = random.uniform(1.2, 3.2)
        row, column = random.uniform(radius, SIDE - 1 - radius, 2)
        if all(np.hypot(row - r, column - c) > radius + other + 1.5 for r, c, other in placed):
            placed.append((row, column, radius))
            inside = np.hypot(rows - row, columns - column) <= radius
            pixels[inside] = random.uniform(90, 255)
    return pixels.clip(0, 255).astype(np.uint8)[..., np.newaxis], number

"""Writes segmentation.json: what MONAI says of pairs of masks, drawn ones and those of pictures
that scikit-image ships, for tests that hold ours against it (test_segmentation_peers.py).

Run by hand, in an environment of its own, when a version of either is to be compared with:

    python -m venv peers && peers/bin/pip install monai==1.6.1 scikit-image==0.26.0
    peers/bin/python tests/trainer/peers/observe_segmentation.py
"""

import base64
import io
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from monai.metrics import compute_dice, compute_hausdorff_distance, compute_iou
from PIL import Image
from skimage import data, filters, morphology

CLASSES = 3
SIDE = 48


def drawn(count=12, seed=0):
    """True and predicted masks of up to two overlapping discs."""
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    true, found = np.zeros((2, count, SIDE, SIDE), np.uint8)
    for n in range(count):
        for place in (1, 2):
            row, column, radius = random.uniform([0, 0, 2], [SIDE, SIDE, 12])
            moved = random.normal(0, 3, 3)
            for mask, offset in ((true, 0 * moved), (found, moved)):
                away = np.hypot(rows - row - offset[0], columns - column - offset[1])
                if random.random() < 0.85:
                    mask[n][away <= radius + offset[2]] = place
    return [*zip(true, found, strict=True)]


def of_pictures():
    """Bright parts by Otsu's threshold, against the same made smooth."""
    for picture in (data.coins(), data.page(), data.cell()):
        bright = picture > filters.threshold_otsu(picture)
        smooth = morphology.closing(morphology.opening(bright, morphology.disk(3)), np.ones((9, 9)))
        yield bright.astype(np.uint8), smooth.astype(np.uint8)


def png(mask):
    """The file of a mask, in base64."""
    file = io.BytesIO()
    Image.fromarray(mask).save(file, "png", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def asked(true, found):
    """MONAI's figures of each class but the background; None for what is no number."""
    of_each = [
        torch.stack([torch.tensor(mask == c) for c in range(CLASSES)])[None]
        for mask in (found, true)
    ]
    scores = {
        "dice": compute_dice(*of_each, include_background=False, ignore_empty=False),
        "iou": compute_iou(*of_each, include_background=False, ignore_empty=False),
        "distance": compute_hausdorff_distance(*of_each, include_background=False, percentile=95),
    }
    return {
        name: [value if np.isfinite(value) else None for value in row[0].double().tolist()]
        for name, row in scores.items()
    }


def main():
    """Write the file."""
    pairs = [*drawn(), *of_pictures()]
    document = {
        "versions": {name: version(name) for name in ("monai", "scikit-image")},
        "pairs": [{"true": png(a), "found": png(b), **asked(a, b)} for a, b in pairs],
    }
    path = Path(__file__).with_name("segmentation.json")
    path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()

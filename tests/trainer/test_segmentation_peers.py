"""Ours beside what MONAI answers to the same masks: peers/observe_segmentation.py has asked it."""

import base64
import json
import math
from pathlib import Path

import pytest

from trainer.masks import decode
from trainer.metrics.masks import compared, pixels
from trainer.metrics.segmentation import dice, iou

PEERS = json.loads((Path(__file__).parent / "peers/segmentation.json").read_text())
CLASSES = 3


@pytest.mark.parametrize("pair", PEERS["pairs"])
def test_scores_and_distances_of_a_class_are_those_of_monai(pair):
    true, found = (
        decode(base64.b64decode(pair[name]), CLASSES)[None] for name in ("true", "found")
    )
    counts = pixels(true, CLASSES)[0]
    predicted, both, distances = compared(true, found, CLASSES)[0]
    for place in (1, 2):
        here = counts[place], predicted[place], both[place]
        theirs = {name: pair[name][place - 1] for name in ("dice", "iou", "distance")}
        if not counts[place] and not predicted[place]:
            # MONAI counts what neither mask has as right; we leave it out.
            assert theirs["dice"] == 1
            assert math.isnan(dice(*here))
            continue
        assert dice(*here) == pytest.approx(theirs["dice"], abs=1e-6)
        assert iou(*here) == pytest.approx(theirs["iou"], abs=1e-6)
        if theirs["distance"] is None:
            assert math.isnan(distances[place])
        else:
            assert distances[place] == pytest.approx(theirs["distance"], abs=1e-5)

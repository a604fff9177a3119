"""A predictions.parquet as a frame."""

import io
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trellis.workflow.lookups import predicted


def test_masks_are_numbers_of_pixels_with_the_dice_of_each_image():
    columns = {
        "key": ["a", "b", "c"],
        "truth": [[6, 4, 0], [10, 0, 0], [0, 5, 5]],
        "predicted": [[8, 2, 0], [10, 0, 0], [0, 10, 0]],
        "both": [[6, 2, 0], [10, 0, 0], [0, 5, 0]],
        "distance": [[math.nan, 1.5, math.nan]] * 3,
    }
    metadata = {
        "schema": "1",
        "task": "segmentation",
        "classes": json.dumps(["no", "cell", "wall"]),
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(columns, metadata=metadata), sink)
    found = predicted.frame(sink.getvalue())
    # Of the classes in either mask, averaged; of background alone there is none.
    assert found["dice"].tolist() == pytest.approx([2 / 3, math.nan, (2 / 3 + 0) / 2], nan_ok=True)
    assert found["foreground"].tolist() == pytest.approx([0.2, 0.0, 1.0])
    assert found.loc["a", "truth.cell"] == 4
    assert found.loc["c", "both.wall"] == 0
    assert found.loc["a", "distance.cell"] == 1.5

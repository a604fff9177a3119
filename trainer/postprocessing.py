"""What a model does with its scores before it answers, beside the calibration: which examples it
hands back, and the set or interval of a prediction.

The server, the smoke test's examples and the comparison all use this. It also reads and writes
postprocessing.json in the folder of a model, whatever its library.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trainer.metrics.decision import Threshold
from trellis_contracts.postprocessing import FILE_NAME, PLAIN, Conformal, Postprocessing


def read(folder: Path) -> Postprocessing:
    """What the model in the folder does with its scores. Raises ContractError."""
    path = folder / FILE_NAME
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return PLAIN
    return Postprocessing.parse(text, str(path))


def write(folder: Path, postprocessing: Postprocessing) -> None:
    """Write the file where it says anything. folder: of the model, without its commit mark yet."""
    if postprocessing != PLAIN:
        (folder / FILE_NAME).write_text(postprocessing.to_json(FILE_NAME))


def certainty(probabilities: np.ndarray, threshold: Threshold | None) -> np.ndarray:
    """(n,) float64: the largest of (n, classes) probabilities, or the distance from a threshold."""
    p = np.asarray(probabilities, np.float64)
    if threshold is None:
        largest: np.ndarray = p.max(axis=1)
        return largest
    return np.abs(p[:, threshold.positive] - threshold.above)


def members(conformal: Conformal, probabilities: np.ndarray) -> np.ndarray:
    """(n, classes) bool: the classes of each set. probabilities: (n, classes)."""
    assert conformal.above is not None
    p = np.asarray(probabilities, np.float64)
    most = np.eye(p.shape[1], dtype=bool)[p.argmax(axis=1)]
    return most | (p >= conformal.above)


def interval(conformal: Conformal, values: np.ndarray) -> np.ndarray:
    """(n, 2) low and high ends of the intervals of (n,) values."""
    assert conformal.margin is not None
    return np.stack([values - conformal.margin, values + conformal.margin], axis=1)


def of_values(postprocessing: Postprocessing, values: np.ndarray) -> Iterator[Mapping[str, Any]]:
    """What a regression's answer to each of (n,) values has beside it."""
    if postprocessing.conformal is None:
        return iter([{}] * len(values))
    ends = interval(postprocessing.conformal, np.asarray(values, np.float64))
    return ({"interval": pair} for pair in ends.tolist())


def of_probabilities(
    postprocessing: Postprocessing,
    probabilities: np.ndarray,
    classes: Sequence[str],
    threshold: Threshold | None,
) -> Iterator[Mapping[str, Any]]:
    """What a classifier's answer to each of (n, classes) probabilities has beside them."""
    abstention, conformal = postprocessing.abstention, postprocessing.conformal
    columns: dict[str, list[Any]] = {}
    if abstention is not None:
        low = certainty(probabilities, threshold) < abstention.below
        columns["abstained"] = low.tolist()
    if conformal is not None:
        columns["set"] = [
            [name for name, one in zip(classes, row, strict=True) if one]
            for row in members(conformal, probabilities).tolist()
        ]
    for place in range(len(probabilities)):
        yield {name: column[place] for name, column in columns.items()}

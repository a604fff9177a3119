"""Converts the predictions that a baseline service, or anybody, wrote to the trainer's format.

BigQuery's EXPORT DATA writes Parquet files with the columns

    key            string                                   a key of the test split
    probabilities  list<struct<label: string, prob: double>>  classification; a missing class has
                                                              probability 0
    prediction     double                                   regression

A file of one's own (`baselines.files`) is a Parquet file like this, or with

    key            string or whole number
    CLASS          float or double, a column for each class: its probability
    prediction     (or value) of a regression, in the label's unit

    risk, survival (a list)      of a time to an event, with `times` in the metadata, as in the next
or a predictions.parquet, as a training writes it (trellis_contracts.predictions); its labels are
not read. Other columns are ignored.

Vertex AI's batch prediction of images writes JSON Lines (predictions_00001.jsonl, errors_...):

    {"instance": {"content": "gs://BUCKET/IMAGE", ...},
     "prediction": {"displayNames": ["benign", ...], "confidences": [0.93, ...], ...}}

The true labels are taken from the test split.
"""

import importlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trainer import storage
from trainer.comparison.held_out_split import HeldOutSplit, listed
from trainer.comparison.raw_predictions import columns
from trainer.families import FAMILIES
from trainer.prediction_checks import PredictionsError
from trainer.prediction_forms import AnyPredictions
from trainer.storage import StorageError
from trellis_contracts.predictions import SUM_TOLERANCE
from trellis_contracts.tasks import CLASSIFICATION
from trellis_contracts.withheld import quoted


def read(folder: Path, split: HeldOutSplit) -> AnyPredictions:
    """The predictions in the files below `folder`, in the test split's order.

    Raises PredictionsError if there are none or their format is wrong, HeldOutSplitError if their
    keys are not exactly those of the test split.
    """
    tables = sorted(folder.rglob("*.parquet"))
    lines = sorted(folder.rglob("*.jsonl"))
    if tables:
        keys, found = _from_tables(tables, split)
    elif lines and not split.multilabel:
        keys, found = _from_lines(lines, split)
    else:
        raise PredictionsError(
            f"no predictions: there is no .parquet or .jsonl file below {folder}"
        )
    _refuse_repeated(keys)
    answers = found[split.order(keys)]
    if split.family == CLASSIFICATION:
        _refuse_sums(found, keys)
    return FAMILIES[split.family].predictions(split, split.keys, split.labels, answers)


def _from_tables(paths: Sequence[Path], split: HeldOutSplit) -> tuple[np.ndarray, np.ndarray]:
    """Keys, and answers as trainer.families has them, by the module of the family's name."""
    try:
        table = pa.concat_tables([pq.read_table(path) for path in paths])
    except (pa.ArrowInvalid, OSError) as error:
        raise PredictionsError(f"raw Parquet files cannot be read: {error}") from error
    keys = columns.column_of(table, "key").cast(pa.string()).to_numpy(zero_copy_only=False)
    module = importlib.import_module(f"{__name__}.{split.family}")
    return keys, module.answers(table, keys, split)


def _from_lines(paths: Sequence[Path], split: HeldOutSplit) -> tuple[np.ndarray, np.ndarray]:
    if not split.classes:
        raise PredictionsError("JSON Lines of an image model, but the dataset has no classes")
    addresses: list[str] = []
    row: list[int] = []
    names: list[str] = []
    shares: list[float] = []
    for where, line in _lines(paths):
        try:
            address = line["instance"]["content"]
            storage.split_uri(address)
            if "prediction" not in line:
                raise PredictionsError(
                    "the service could not predict "
                    f"{quoted(f'{address}: {_error(line)}', 'every image')}"
                )
            predicted = line["prediction"]
            row += [len(addresses)] * len(predicted["displayNames"])
            names += predicted["displayNames"]
            shares += [float(share) for share in predicted["confidences"]]
            addresses.append(address)
        except (KeyError, TypeError, ValueError, StorageError) as error:
            if isinstance(error, PredictionsError):
                raise
            why = quoted(f": {error!r}", "")
            raise PredictionsError(f"{where} is not an image's prediction{why}") from error
    if len(names) != len(shares):
        raise PredictionsError(f"{len(names)} displayNames but {len(shares)} confidences")
    found = columns.by_class(
        len(addresses), np.array(row, dtype=int), names, np.array(shares), split.classes
    )
    keys, places = _keys(addresses, split)
    return np.array(keys, dtype=object), found[places]


def _keys(addresses: Sequence[str], split: HeldOutSplit) -> tuple[list[str], list[int]]:
    """The keys of the examples that have these images, and each one's place among the addresses. An
    image that is no example's stands for itself.
    """
    keys = defaultdict(list)
    for key, address in zip(split.keys, split.addresses, strict=False):
        keys[address].append(key)
    pairs = [(key, n) for n, address in enumerate(addresses) for key in keys[address] or [address]]
    return [key for key, _ in pairs], [place for _, place in pairs]


def _lines(paths: Sequence[Path]) -> Iterator[tuple[str, dict]]:
    """Yield (file and line for a message, its JSON object)."""
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for number, text in enumerate(file, start=1):
                if not text.strip():
                    continue
                where = f"{path.name}, line {number}"
                try:
                    yield where, json.loads(text)
                except ValueError as error:
                    raise PredictionsError(f"{where} is not JSON: {error}") from error


def _error(line: dict) -> str:
    error = line.get("error") or line.get("status") or "no reason given"
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)


def _refuse_repeated(keys: np.ndarray) -> None:
    unique, counts = np.unique(keys.astype(str), return_counts=True)
    if (counts > 1).any():
        raise PredictionsError(
            f"{np.count_nonzero(counts > 1):,} of {len(unique):,} keys have several predictions: "
            f"{listed(unique[counts > 1])}"
        )


def _refuse_sums(probabilities: np.ndarray, keys: np.ndarray) -> None:
    """Raise PredictionsError, with a hint for services, unless each row sums to 1."""
    sums = probabilities.sum(axis=1)
    short = sums < 1 - SUM_TOLERANCE
    if short.any():
        first = np.flatnonzero(short)[0]
        raise PredictionsError(
            f"probabilities do not sum to 1 for {np.count_nonzero(short):,} of {len(keys):,} keys: "
            f"{listed(keys[short])}; the sum for {quoted(repr(keys[first]), 'the first')} is "
            f"{sums[first]:.4f}, as where a service leaves classes out"
        )

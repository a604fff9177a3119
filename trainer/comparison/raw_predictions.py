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

import itertools
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trainer import storage
from trainer.comparison.held_out_split import HeldOutSplit, listed, listed_classes
from trainer.metrics import survival_estimates as estimates
from trainer.prediction_checks import PredictionsError, lists
from trainer.prediction_forms import AnyPredictions, LabelSets, Predictions, Survivals, Values
from trainer.storage import StorageError
from trellis_contracts.dataset_features import Event
from trellis_contracts.withheld import at_keys, quoted


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
    if split.event is not None:
        risks, curves = answers[:, 0], answers[:, 1:]
        return Survivals(split.keys, split.labels, risks, curves, split.event.times)
    if not split.classes:
        return Values(split.keys, split.labels, answers)
    if split.multilabel:
        return LabelSets(split.keys, split.labels, answers, split.classes)
    _refuse_sums(found, keys)
    return Predictions(split.keys, split.labels, answers, split.classes)


def _from_tables(paths: Sequence[Path], split: HeldOutSplit) -> tuple[np.ndarray, np.ndarray]:
    try:
        table = pa.concat_tables([pq.read_table(path) for path in paths])
    except (pa.ArrowInvalid, OSError) as error:
        raise PredictionsError(f"raw Parquet files cannot be read: {error}") from error
    keys = _column(table, "key").cast(pa.string()).to_numpy(zero_copy_only=False)
    if split.event is not None:
        return keys, _of_survival(table, keys, split.event)
    if not split.classes:
        name = "prediction" if "prediction" in table.column_names else "value"
        return keys, _numbers(table, name)
    if "probabilities" not in table.column_names:
        if missing := [name for name in split.classes if name not in table.column_names]:
            raise PredictionsError(
                f"there is no column of probabilities, and none for {listed_classes(missing)}: "
                f"expected one for each class; there are {listed_classes(table.column_names)}"
            )
        return keys, np.stack([_numbers(table, name) for name in split.classes], axis=1)
    if b"classes" in (table.schema.metadata or {}):
        return keys, _of_training(table, split)
    rows = _plain_list(_column(table, "probabilities"))
    pairs = rows.flatten()
    try:
        names, shares = pc.struct_field(pairs, "label"), pc.struct_field(pairs, "prob")
    except (pa.ArrowException, KeyError) as error:
        raise PredictionsError(
            f"column 'probabilities' is {rows.type}, not a list of (label, prob)"
        ) from error
    row = np.repeat(np.arange(len(rows)), pc.list_value_length(rows).to_numpy(zero_copy_only=False))
    return keys, _by_class(
        len(keys),
        row,
        names.cast(pa.string()).to_pylist(),
        shares.cast(pa.float64()).to_numpy(zero_copy_only=False),
        split.classes,
    )


def _of_survival(table: pa.Table, keys: np.ndarray, event: Event) -> np.ndarray:
    """(n, 1 + t) risk and survival of a predictions.parquet of a time to an event, with survival at
    the dataset's times: those of the file must cover them.
    """
    metadata = table.schema.metadata or {}
    if b"times" not in metadata:
        raise PredictionsError(
            "the metadata of the Parquet file have no `times`, a JSON list, which the lists of the "
            "column survival are of (trellis_contracts/predictions.py)"
        )
    times = tuple(map(float, json.loads(metadata[b"times"])))
    if not times or any(low >= high for low, high in itertools.pairwise((0.0, *times))):
        raise PredictionsError(f"times {list(times)} do not rise from above 0")
    if times[-1] < event.times[-1]:
        raise PredictionsError(
            f"survival is predicted until the time {times[-1]:g}; the dataset has it until "
            f"{event.times[-1]:g}"
        )
    curves = lists(_plain_list(_column(table, "survival")), keys, len(times), "time")
    at = estimates.interpolated(curves.astype(np.float64), times, event.times)
    return np.concatenate([_numbers(table, "risk")[:, None], at], axis=1)


def _of_training(table: pa.Table, split: HeldOutSplit) -> np.ndarray:
    """(n, c) probabilities of a predictions.parquet, in the split's order of the classes."""
    names = [str(name) for name in json.loads(table.schema.metadata[b"classes"])]
    if set(names) != set(split.classes):
        raise PredictionsError(
            f"predicts the classes {listed_classes(names)}; the dataset has "
            f"{listed_classes(split.classes)}"
        )
    lists = _column(table, "probabilities")
    if (pc.list_value_length(lists).to_numpy(zero_copy_only=False) != len(names)).any():
        raise PredictionsError(f"not exactly {len(names)} probabilities, one per class")
    flat = lists.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False)
    order = [names.index(name) for name in split.classes]
    found: np.ndarray = flat.reshape(-1, len(names))[:, order]
    return found


def _numbers(table: pa.Table, name: str) -> np.ndarray:
    """The column of a class, or of a regression's values."""
    if name not in table.column_names:
        _column(table, name)  # says so
    column, named = table.column(name).combine_chunks(), quoted(repr(name), "of predictions")
    if column.null_count:
        keys = table.column("key").filter(column.is_null()).to_pylist()
        raise PredictionsError(
            f"column {named} is NULL in {column.null_count} of {len(column)} rows{at_keys(keys)}"
        )
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise PredictionsError(f"column {named} is of {column.type}, not of numbers")
    found: np.ndarray = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found


def _column(table: pa.Table, name: str) -> pa.Array:
    if name not in table.column_names:
        # A column may be called as a class.
        others = quoted(", ".join(table.column_names), f"{len(table.column_names)} others")
        raise PredictionsError(f"raw predictions have no column {name!r}, only {others}")
    column = table.column(name).combine_chunks()
    if column.null_count:
        raise PredictionsError(
            f"raw predictions: column {name!r} is NULL in {column.null_count} of {len(column)} rows"
        )
    return column


def _plain_list(column: pa.Array) -> pa.Array:
    """A list column, also from a Parquet file whose lists have no LIST annotation.

    Without it, Arrow reads a list as struct<list: list<struct<item: T>>>.
    """
    if pa.types.is_struct(column.type) and column.type.num_fields == 1:
        column = column.field(0)
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise PredictionsError(f"column 'probabilities' is {column.type}, not a list")
    inner = column.type.value_type
    if pa.types.is_struct(inner) and inner.num_fields == 1:
        column = pa.ListArray.from_arrays(column.offsets.cast(pa.int32()), column.values.field(0))
    return column


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
    found = _by_class(
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


def _by_class(
    count: int, row: np.ndarray, names: Sequence[str], shares: np.ndarray, classes: Sequence[str]
) -> np.ndarray:
    """(count, c) float64 probabilities from (row, class name, probability) triples."""
    index = {name: i for i, name in enumerate(classes)}
    if unknown := sorted({str(name) for name in names if name not in index}):
        raise PredictionsError(
            f"predicts {listed_classes(unknown)}, which {'is' if len(unknown) == 1 else 'are'} not "
            f"among the dataset's {listed_classes(classes)}"
        )
    matrix = np.zeros((count, len(classes)))
    np.add.at(matrix, (row, np.array([index[name] for name in names], int)), shares)
    return matrix


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
    short = sums < 1 - 1e-3
    if short.any():
        first = np.flatnonzero(short)[0]
        raise PredictionsError(
            f"probabilities do not sum to 1 for {np.count_nonzero(short):,} of {len(keys):,} keys: "
            f"{listed(keys[short])}; the sum for {quoted(repr(keys[first]), 'the first')} is "
            f"{sums[first]:.4f}, as where a service leaves classes out"
        )

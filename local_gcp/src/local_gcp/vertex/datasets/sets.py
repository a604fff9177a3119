"""The training, validation and test sets of a managed dataset, as AutoML reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from google.cloud import aiplatform_v1 as api

from local_gcp import filters
from local_gcp.vertex import splits, tables
from local_gcp.vertex.datasets import importing
from local_gcp.vertex.datasets.dataset_service import IMAGE, ITEM_FIELDS, source
from local_gcp.wire import failed_precondition, not_emulated


def check(config: api.InputDataConfig, dataset: api.Dataset, field: str) -> None:
    """Check a configuration: INVALID_ARGUMENT, UNIMPLEMENTED."""
    splits.check(config, dataset.metadata_schema_uri != IMAGE, field)
    for name in ("annotations_filter", "saved_query_id", "persist_ml_use_assignment"):
        if getattr(config, name):
            raise not_emulated(f"{field}.{name}")
    if "filter_split" in config:
        for name in splits.NAMES:
            text = getattr(config.filter_split, f"{name}_filter")
            if text != "-":
                filters.parse_filter(text, ITEM_FIELDS)


def assign_items(items: Sequence[importing.Item], config: api.InputDataConfig) -> np.ndarray:
    """int8[items]: the set of each image; see `splits`."""
    if "filter_split" not in config:
        parts = splits.fractions(config.fraction_split, "fraction_split")
        return splits.by_fraction(len(items), parts)
    result = np.full(len(items), splits.IGNORED, dtype=np.int8)
    for place, name in reversed(list(enumerate(splits.NAMES))):  # the first match wins
        text = getattr(config.filter_split, f"{name}_filter")
        if text != "-":
            matches = filters.parse_filter(text, ITEM_FIELDS)
            result[[matches(item) for item in items]] = place
    return result


def split_table(
    tables_: tables.Tables, dataset: api.Dataset, config: api.InputDataConfig, work: Path
) -> dict[str, Path]:
    """The rows of a tabular dataset, as a Parquet file in `work` for each of the three sets."""
    work.mkdir(parents=True, exist_ok=True)
    rows = work / "rows.parquet"
    tables_.stage(source(dataset), rows, f"the data of {dataset.display_name}")
    sets = tables.assign(rows, config, "input_data_config")
    _check_not_empty(sets)
    parts = {name: work / f"{name}.parquet" for name in splits.NAMES}
    tables.split_parquet(rows, sets, list(parts.values()))
    rows.unlink()
    return parts


def _check_not_empty(sets: np.ndarray) -> None:
    if not (sets == 0).any():
        ignored = int((sets == splits.IGNORED).sum())
        raise failed_precondition(
            f"The split of the data leaves no training data: {len(sets)} rows or images, of which "
            f"{ignored} belong to no set."
        )

"""Writes the data of a managed dataset for a custom training, in Vertex AI's layout.

https://cloud.google.com/vertex-ai/docs/training/using-managed-datasets and the field comments of
InputDataConfig: a folder dataset-ID-TYPE-TIME in the bucket, with training-*, validation-* and
test-* in it (JSON lines for images, CSV with a header for tables), or a BigQuery dataset
dataset_ID_TYPE_TIME with the tables training, validation and test. The variables AIP_DATA_FORMAT,
AIP_TRAINING_DATA_URI, AIP_VALIDATION_DATA_URI and AIP_TEST_DATA_URI name them to the program.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from google.cloud import aiplatform_v1 as api

from local_gcp import filters, names
from local_gcp.field_errors import invalid_field
from local_gcp.project import project_id
from local_gcp.vertex import gcs, splits, tables
from local_gcp.vertex.datasets import importing
from local_gcp.vertex.datasets.dataset_service import IMAGE, ITEM_FIELDS, source
from local_gcp.vertex.datasets.items import CLASSIFICATION
from local_gcp.wire import failed_precondition, not_emulated

_SHARD = "00000-of-00001"


def check(config: api.InputDataConfig, dataset: api.Dataset, custom: bool, field: str) -> None:
    """Check a configuration: INVALID_ARGUMENT, UNIMPLEMENTED. `custom`: for a custom
    training, which needs a destination; AutoML has none.
    """
    images = dataset.metadata_schema_uri == IMAGE
    splits.check(config, not images, field)
    for name in ("annotations_filter", "saved_query_id", "persist_ml_use_assignment"):
        if getattr(config, name):
            raise not_emulated(f"{field}.{name}")
    if "filter_split" in config:
        for name in splits.NAMES:
            text = getattr(config.filter_split, f"{name}_filter")
            if text != "-":
                filters.parse_filter(text, ITEM_FIELDS)
    if not custom:
        return
    if "gcs_destination" in config:
        gcs.check_folder(config.gcs_destination.output_uri_prefix, f"{field}.gcs_destination")
    elif "bigquery_destination" in config:
        where = f"{field}.bigquery_destination"
        if images or not isinstance(source(dataset), str):
            raise invalid_field(where, "Only tabular datasets with a BigQuery source can have it.")
        if tables.destination(config.bigquery_destination.output_uri, where) != (None, None):
            raise invalid_field(where, "Expected bq://PROJECT: a dataset is created.")
    else:
        raise invalid_field(field, "gcs_destination or bigquery_destination is required.")
    if images and config.annotation_schema_uri != CLASSIFICATION:
        raise invalid_field(f"{field}.annotation_schema_uri", f"Images need {CLASSIFICATION}.")


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


def lay_out(
    tables_: tables.Tables,
    items: Sequence[importing.Item],
    dataset: api.Dataset,
    config: api.InputDataConfig,
    now: datetime.datetime,
    work: Path,
) -> dict[str, str]:
    """Write the three sets; returns the variables that lead a program to them.

    `items`: of a dataset of images. `now`: when the pipeline was created, part of the names, so
    that a repetition replaces existing files. `work`: a folder for temporary files.
    """
    number = names.last(dataset.name)
    if dataset.metadata_schema_uri == IMAGE:
        folder = _folder(config, number, "image_classification", now)
        local = gcs.local_path(tables_.buckets, folder)
        local.mkdir(parents=True, exist_ok=True)
        sets = assign_items(items, config)
        _check_not_empty(sets)
        for place, name in enumerate(splits.NAMES):
            lines = [
                importing.json_line(item) + "\n"
                for item, chosen in zip(items, sets, strict=True)
                if chosen == place
            ]
            (local / f"{name}-{_SHARD}.jsonl").write_text("".join(lines))
        return _environment("jsonl", {n: f"{folder}{n}-*.jsonl" for n in splits.NAMES})
    parts = split_table(tables_, dataset, config, work)
    if "bigquery_destination" in config:
        stamp = now.strftime("%Y_%m_%dT%H_%M_%S_") + f"{now.microsecond // 1000:03}Z"
        uri = f"bq://{project_id()}.dataset_{number}_tables_{stamp}"
        for name, file in parts.items():
            tables_.publish(f"{uri}.{name}", file, "bigquery_destination")
        return _environment("bigquery", {name: f"{uri}.{name}" for name in parts})
    folder = _folder(config, number, "tables", now)
    local = gcs.local_path(tables_.buckets, folder)
    local.mkdir(parents=True, exist_ok=True)
    for name, file in parts.items():
        _write_csv(file, local / f"{name}-{_SHARD}.csv")
    return _environment("csv", {name: f"{folder}{name}-*.csv" for name in parts})


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


def _folder(config: api.InputDataConfig, number: str, kind: str, now: datetime.datetime) -> str:
    prefix = gcs.check_folder(config.gcs_destination.output_uri_prefix, "gcs_destination")
    stamp = now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03}Z"
    return f"{prefix}dataset-{number}-{kind}-{stamp}/"


def _environment(form: str, uris: Mapping[str, Any]) -> dict[str, str]:
    return {
        "AIP_DATA_FORMAT": form,
        **{f"AIP_{name.upper()}_DATA_URI": uri for name, uri in uris.items()},
    }


def _write_csv(source_file: Path, target: Path) -> None:
    with pq.ParquetFile(source_file) as rows:
        nested = [f.name for f in rows.schema_arrow if pa.types.is_nested(f.type)]
        if nested:
            raise failed_precondition(
                f"The columns {', '.join(nested)} are ARRAY or STRUCT, which a CSV cannot hold; "
                "use a BigQuery destination."
            )
        with pyarrow.csv.CSVWriter(
            target,
            rows.schema_arrow,
            write_options=pyarrow.csv.WriteOptions(quoting_style="needed"),
        ) as writer:
            for group in range(rows.num_row_groups):
                writer.write_table(rows.read_row_group(group))

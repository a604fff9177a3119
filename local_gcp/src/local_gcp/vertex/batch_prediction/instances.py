"""JSON instances through a model of images or a serving container.

A line of a JSONL file is an instance, a line of a CSV or a row of a table an array of its values,
a file of a file list {"content": gs://...} for a model of images and {"b64": its bytes} for a
container: see InstanceConfig in the API, which can also choose, leave out and order the fields.
"""

from __future__ import annotations

import base64
import csv
import itertools
import json
import mimetypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from local_gcp.vertex import gcs
from local_gcp.vertex.automl.features import DataError
from local_gcp.vertex.automl.model import ImageModel
from local_gcp.vertex.batch_prediction import files
from local_gcp.vertex.batch_prediction.container import Container, RequestError
from local_gcp.vertex.batch_prediction.rows import ERRORS, PREDICTIONS
from local_gcp.vertex.csv_rows import BATCH
from local_gcp.wire import RpcError

IMAGES = 256
"""Images that are decoded at a time."""

Row = tuple[Any, Any]
"""(instance as sent to the model, or an InstanceError; its fields in the results)."""


class InstanceError(Exception):
    """The instance cannot be sent; the message says why."""


def predict_images(model: ImageModel, config: dict[str, Any], work: Path) -> files.Counts:
    """Write the predictions of all images into `work`."""
    counts, sink = files.Counts(), files.JsonLines(work, "image")
    buckets, parameters = Path(config["buckets"]), config["parameters"]
    threshold = float(parameters.get("confidenceThreshold") or 0)
    most = int(parameters.get("maxPredictions") or 10)
    rows = _rows(config, buckets, images=True)
    while chunk := list(itertools.islice(rows, IMAGES)):
        paths = [_image(instance, buckets) for instance, _ in chunk]
        predictions, problems = model.predict(paths, threshold, most)
        for (_, record), prediction, problem in zip(chunk, predictions, problems, strict=True):
            if problem is None:
                counts.successful += 1
                sink.add(record, prediction)
            else:
                sink.fail(record, counts.fail(files.INVALID_ARGUMENT, problem))
    sink.close()
    return counts


def predict_container(config: dict[str, Any], work: Path) -> files.Counts:
    """Send all instances to the model's container and write its predictions into `work`."""
    counts = files.Counts()
    table = config["output"]["format"] == "bigquery"
    sink = _Rows(work, config) if table else files.Statistics(work)
    rows = _rows(config, Path(config["buckets"]), images=False)
    with Container(config["model"]) as container:
        send = lambda batch: container.predict(batch, config["parameters"])  # noqa: E731
        while chunk := list(itertools.islice(rows, config["batch_size"])):
            answers = _answers([instance for instance, _ in chunk], send)
            for (_, record), (prediction, problem) in zip(chunk, answers, strict=True):
                if problem is None:
                    counts.successful += 1
                    sink.add(record, prediction)
                else:
                    sink.fail(record, counts.fail(files.INTERNAL, problem))
            print(f"{counts.successful} predicted, {counts.failed} failed", flush=True)
    sink.close()
    return counts


def _answers(
    batch: list[Any], send: Callable[[list[Any]], list[Any]]
) -> list[tuple[Any, str | None]]:
    """(prediction, problem) of each instance; those of a request that fails all fail."""
    sent = [instance for instance in batch if not isinstance(instance, InstanceError)]
    answers: list[tuple[Any, str | None]]
    try:
        answers = [(prediction, None) for prediction in send(sent)] if sent else []
    except RequestError as error:
        answers = [(None, str(error)) for _ in sent]
    predicted = iter(answers)
    return [(None, str(i)) if isinstance(i, InstanceError) else next(predicted) for i in batch]


class _Rows:
    """Rows of a table with a column `prediction` or `prediction_error`, as Parquet for the server.

    A container's predictions have no schema: they are written as JSON text.
    """

    def __init__(self, work: Path, config: dict[str, Any]):
        source = config["input"]
        schema = pa.schema([("instance", pa.string())])
        if source["format"] == "bigquery":
            schema = pq.read_schema(source["files"][0])
        self._schema, self._work = schema, work
        self._good: list[dict[str, Any]] = []
        self._bad: list[dict[str, Any]] = []
        good = schema.append(pa.field("prediction", pa.string()))
        bad = schema.append(pa.field("prediction_error", pa.string()))
        self._writers = [
            (self._good, pq.ParquetWriter(work / PREDICTIONS, good), good),
            (self._bad, pq.ParquetWriter(work / ERRORS, bad), bad),
        ]

    def add(self, record: Any, prediction: Any) -> None:
        text = prediction if isinstance(prediction, str) else json.dumps(prediction)
        self._good.append({**self._columns(record), "prediction": text})
        self._flush(BATCH)

    def fail(self, record: Any, status: dict[str, Any]) -> None:
        self._bad.append({**self._columns(record), "prediction_error": status["message"]})
        self._flush(BATCH)

    def close(self) -> None:
        self._flush(1)
        for _, writer, _ in self._writers:
            writer.close()

    def _columns(self, record: Any) -> dict[str, Any]:
        if "row" in record:
            return record["row"]
        return {"instance": json.dumps(record.get("instance"), ensure_ascii=False)}

    def _flush(self, rows: int) -> None:
        for waiting, writer, schema in self._writers:
            if len(waiting) >= rows:
                writer.write_table(pa.Table.from_pylist(waiting, schema))
                waiting.clear()


def _rows(config: dict[str, Any], buckets: Path, images: bool) -> Iterator[Row]:
    source, shape = config["input"], config["instance"]
    paths = [Path(path) for path in source["files"]]
    if source["format"] == "bigquery":
        with pq.ParquetFile(paths[0]) as rows:
            names = rows.schema_arrow.names
            for batch in rows.iter_batches(BATCH):
                for row in batch.to_pylist():
                    value = _shaped(files.jsonable(row), shape, shape["type"] or "array")
                    record = _with_key({"instance": _json(row, names)}, row, shape)
                    if config["output"]["format"] == "bigquery":
                        record = {"row": {"key": row[shape["key"]]} if shape["key"] else row}
                    yield value, record
        return
    for path in paths:
        with path.open(encoding="utf-8", newline="") as lines:
            if source["format"] == "csv":
                for row in itertools.islice(csv.reader(lines), 1, None):
                    value = [_number(cell) for cell in row]
                    yield value, {"instance": value}
            elif source["format"] == "file-list":
                for line in filter(None, map(str.strip, lines)):
                    value = {"content": line}
                    kind = mimetypes.guess_type(line)[0]
                    value |= {"mimeType": kind} if kind else {}
                    sent = value if images else _file(line, buckets)
                    yield sent, {"instance": value if images else line}
            else:
                for number, line in enumerate(lines, start=1):
                    if line.strip():
                        value = _parsed(line, f"{path.name}:{number}")
                        yield (
                            _shaped(value, shape, shape["type"]),
                            _with_key({"instance": value}, value, shape),
                        )


def _parsed(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise DataError(f"{where} is not JSON: {error}") from None


def _shaped(value: Any, shape: dict[str, Any], kind: str | None) -> Any:
    """The instance with the fields that are wanted, as an object or an array."""
    if not isinstance(value, dict):
        return value
    dropped = {*shape["excluded"], shape["key"]}
    names = shape["included"] or [name for name in value if name not in dropped]
    if missing := [name for name in names if name not in value]:
        raise DataError(f"An instance has no field {', '.join(missing)}: {value}")
    chosen = {name: value[name] for name in names}
    return list(chosen.values()) if kind == "array" else chosen


def _with_key(record: dict[str, Any], value: Any, shape: dict[str, Any]) -> dict[str, Any]:
    if not shape["key"]:
        return record
    if not isinstance(value, dict) or shape["key"] not in value:
        raise DataError(f"An instance has no key field {shape['key']}: {value}")
    return {"key": files.jsonable(value[shape["key"]])}


def _json(row: dict[str, Any], names: list[str]) -> dict[str, Any]:
    return {name: files.jsonable(row[name]) for name in names}


def _image(instance: Any, buckets: Path) -> Path | None:
    content = instance.get("content") if isinstance(instance, dict) else None
    try:
        return gcs.local_path(buckets, content) if isinstance(content, str) else None
    except RpcError:
        return None


def _file(uri: str, buckets: Path) -> Any:
    try:
        content = gcs.local_path(buckets, uri).read_bytes()
        return {"b64": base64.b64encode(content).decode()}
    except (OSError, RpcError):
        return InstanceError(f"{uri} cannot be read.")


def _number(cell: str) -> Any:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell

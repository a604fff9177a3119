"""Output files of a batch prediction: results, failed instances, and counts.

Everything is written into a work folder; `Files.publish` moves it into the bucket at the end, so a
reader never sees a partial result. The names are Google's: images predictions_00001.jsonl, tables
predictions_1.csv, all others prediction.results-00000-of-00001.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import datetime
import decimal
import json
import math
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COUNTS = "counts.json"
_PROBLEMS = 20
NAMES = {
    "image": ("predictions_00001.jsonl", "errors_00001.jsonl"),
    "csv": ("predictions_1.csv", "errors_1.csv"),
    "jsonl": ("prediction.results-00000-of-00001", "prediction.errors_stats-00000-of-00001"),
}
INVALID_ARGUMENT, INTERNAL = 3, 13
"""google.rpc.Code of a failed instance: an invalid one, or a failure of the model."""


class Counts:
    """Numbers of predicted and failed instances, and the errors of the first failed ones."""

    def __init__(self) -> None:
        self.successful = self.failed = 0
        self.problems: list[dict[str, Any]] = []

    def fail(self, code: int, message: str) -> dict[str, Any]:
        """Count a failed instance; returns its google.rpc.Status as JSON."""
        self.failed += 1
        status = {"code": code, "message": message}
        if len(self.problems) < _PROBLEMS:
            self.problems.append(status)
        return status

    def write(self, folder: Path) -> None:
        """Write counts.json."""
        (folder / COUNTS).write_text(json.dumps(vars(self)))


class JsonLines:
    """Results as lines: {"instance": ..., "prediction": ...} or {"instance": ..., "error": ...}."""

    def __init__(self, work: Path, kind: str):
        self._files = contextlib.ExitStack()
        self._results, self._errors = (
            self._files.enter_context((work / name).open("w", encoding="utf-8"))
            for name in NAMES[kind]
        )

    def add(self, who: Mapping[str, Any], prediction: Any) -> None:
        """`who`: {"instance": ...} or {"key": ...}."""
        self._results.write(_line({**who, "prediction": prediction}))

    def fail(self, who: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        self._errors.write(_line({**who, "error": status}))

    def close(self) -> None:
        self._files.close()


class Statistics(JsonLines):
    """Results of a container as lines; of the errors, each message and its number of instances.

    A line is a Python tuple, ('MESSAGE', 16), as Google's page on troubleshooting shows it.
    """

    def __init__(self, work: Path):
        super().__init__(work, "jsonl")
        self._failed: Counter[str] = Counter()

    def fail(self, who: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        self._failed[status["message"]] += 1

    def close(self) -> None:
        for pair in self._failed.items():
            self._errors.write(f"{pair!r}\n")
        super().close()


class Csv:
    """Results as CSV with a header: the columns of the input, by name, and the prediction's."""

    def __init__(self, work: Path, columns: Sequence[str], of_prediction: Sequence[str]):
        self._files = contextlib.ExitStack()
        results, errors = (
            csv.writer(
                self._files.enter_context((work / name).open("w", encoding="utf-8", newline="")),
                lineterminator="\n",
            )
            for name in NAMES["csv"]
        )
        self._results, self._errors = results, errors
        self._columns = sorted(columns)
        results.writerow([*self._columns, *of_prediction])
        errors.writerow([*self._columns, "errors"])

    def add(self, row: Mapping[str, Any], prediction: Sequence[Any]) -> None:
        self._results.writerow([*self._cells(row), *prediction])

    def fail(self, row: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        self._errors.writerow([*self._cells(row), status["message"]])

    def _cells(self, row: Mapping[str, Any]) -> list[Any]:
        return [_cell(row[name]) for name in self._columns]

    def close(self) -> None:
        self._files.close()


def publish(work: Path, kind: str, folder: Path) -> None:
    """Move the files into a folder of a bucket; one for errors only if there are any, as CSV and
    for images.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results, errors = NAMES[kind]
    lines = 1 if kind == "csv" else 0
    with (work / errors).open() as file:
        failed = sum(1 for _, _line in zip(range(lines + 1), file, strict=False)) > lines
    if failed or kind == "jsonl":
        shutil.move(work / errors, folder / errors)
    shutil.move(work / results, folder / results)


def jsonable(value: Any) -> Any:
    """A value of a table as BigQuery has it in JSON: times in RFC 3339, bytes in base64, and as
    text decimals and what is not a number of JSON ("NaN", "Infinity").
    """
    if isinstance(value, dict):
        return {name: jsonable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [jsonable(item) for item in value]
    if isinstance(value, datetime.datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value


def _cell(value: Any) -> Any:
    value = jsonable(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"

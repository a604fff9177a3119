"""The file in which a trial reports its metric, as cloudml-hypertune writes it.

JSON lines at $CLOUD_ML_HP_METRIC_FILE, one for each report:
`{"timestamp": 1.7e9, "trial": "1", "accuracy": "0.93", "global_step": "4", "checkpoint_path": ""}`.
The library rewrites the whole file at each report, so a reader may find it empty or half-written;
the next poll finds it complete.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from local_gcp.vertex.tuning.trials import Measurement

_OTHER_FIELDS = {"timestamp", "trial", "global_step", "checkpoint_path"}


def read_measurements(path: Path, metric: str, started: float) -> list[Measurement]:
    """The measurements of `metric` in the file; other metrics are ignored.

    `started` (seconds since the epoch) is when the trial started. Lines that cannot be read, the
    half-written one among them, are skipped.
    """
    try:
        lines = path.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return [m for line in lines if (m := _measurement(line, metric, started))]


def missing_metric(path: Path, metric: str) -> str:
    """The reason for the record of a successful trial without a measurement of `metric`."""
    found: set[str] = set()
    if path.exists():
        for line in path.read_text(errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                found |= set(json.loads(line)) - _OTHER_FIELDS
    if metric in found:
        return f"The trial reported no finite value of the metric {metric!r}."
    others = f"; it reported {', '.join(sorted(found))}" if found else ""
    return (
        f"The trial ended without reporting the metric {metric!r}{others}. The program must "
        "report it with cloudml-hypertune, under this name."
    )


def _measurement(line: str, metric: str, started: float) -> Measurement | None:
    try:
        report = json.loads(line)
        return Measurement(
            step=int(report.get("global_step", 0)),
            elapsed=max(0.0, float(report["timestamp"]) - started),
            value=float(report[metric]),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None

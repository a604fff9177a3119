"""Models on disk: made by CREATE MODEL in a process of their own, used by the ML.* functions.

    models = Models(home / "models")
    record = models.create(details, rows, progress, cancelled)
    catalog.put(details.ref, record.json)              # the caller's: this is the commit
    models.call("ML.PREDICT", record, rows, {"threshold": 0.4})

A model is one file, written whole before its record is returned, and never changed. What a kill at
any moment leaves is a file that no record names: `keep` removes those at the next start.

The files are pickles, which is how scikit-learn's own models are stored: loading one runs code that
is in it. Only files that this module wrote into its own folder are ever loaded; nothing of a client
reaches a file's name or content except as numbers and texts inside a model.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.refs import ModelRef
from local_gcp.bigquery.schema import Field

from . import options

if TYPE_CHECKING:
    from local_gcp.bigquery.sql.translated import CreateModel

    from .training import Trained

ROOT = Path(__file__).resolve().parents[3]
LOADED = 8
"""Models that are kept in memory."""
ONE_THREAD = 64 * 1024**2
"""Bytes of training rows up to which one thread trains."""
POLL = 0.1
"""Seconds between looks at whether a training was cancelled."""

_SUMMARY = ("modelType", "creationTime", "lastModifiedTime", "expirationTime", "labels", "location")


@dataclass
class ModelRecord:
    """What a catalog keeps of a model. `resource`: REST Model without its names; patch it freely.

    `artifact`: the file's name in the folder of models.
    """

    artifact: str
    resource: dict[str, Any]

    @property
    def json(self) -> dict[str, Any]:
        """For `from_json`."""
        return {"artifact": self.artifact, "resource": self.resource}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ModelRecord:
        return cls(value["artifact"], value["resource"])

    def rest(self, ref: ModelRef) -> dict[str, Any]:
        """REST Model, as models.get answers."""
        resource = {"modelReference": ref.api, **self.resource}
        text = json.dumps(resource, sort_keys=True)
        return {"etag": hashlib.md5(text.encode()).hexdigest(), **resource}

    def summary(self, ref: ModelRef) -> dict[str, Any]:
        """REST Model with the few fields that models.list answers."""
        kept = {k: self.resource[k] for k in _SUMMARY if k in self.resource}
        return {"modelReference": ref.api, **kept}


class Models:
    """The folder. Methods may be called from any thread; one instance per process."""

    def __init__(self, folder: Path):
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob("training-*"):  # a killed server's
            shutil.rmtree(left, ignore_errors=True)
        self._loaded: OrderedDict[str, Trained] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, artifacts: Iterable[str]) -> None:
        """Remove the files of models that no record names. Call before any `create`."""
        known = set(artifacts)
        for file in self._folder.glob("*.pickle"):
            if file.name not in known:
                file.unlink()

    def create(
        self,
        details: CreateModel,
        rows: pa.Table | pa.RecordBatchReader,
        progress: Callable[[dict[str, Any]], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> ModelRecord:
        """Train the model of a CREATE MODEL; returns when it is on disk.

        `progress` gets each iteration: index, loss, eval_loss, learn_rate, duration_ms. Once
        `cancelled` is set, the training is killed. BigQueryError: for options and data that make
        no model; `stopped` when cancelled.
        """
        checked = options.check(details.options)
        folder = Path(tempfile.mkdtemp(prefix="training-", dir=self._folder))
        try:
            (folder / "options.json").write_text(json.dumps(checked))
            _write(rows, folder / "rows.arrow")
            _train(folder, progress, cancelled)
            resource = json.loads((folder / "resource.json").read_text())
            artifact = f"{uuid.uuid4().hex}.pickle"
            os.replace(folder / "model.pickle", self._folder / artifact)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        now = str(time.time_ns() // 1_000_000)
        resource = {"creationTime": now, "lastModifiedTime": now, **resource}
        return ModelRecord(artifact, resource)

    def delete(self, record: ModelRecord) -> None:
        """Remove a model's file; call it once the record is gone."""
        with self._lock:
            self._loaded.pop(record.artifact, None)
        (self._folder / record.artifact).unlink(missing_ok=True)

    def fields(
        self,
        function: str,
        record: ModelRecord,
        given: Iterable[Field] | None,
        arguments: dict[str, Any],
    ) -> tuple[Field, ...]:
        """The columns of an ML.* call, known without running it. `given`: the input's columns."""
        from . import functions

        given = None if given is None else tuple(given)
        return functions.fields(function, self._load(record), given, arguments)

    def call(
        self,
        function: str,
        record: ModelRecord,
        rows: pa.Table | None,
        arguments: dict[str, Any],
    ) -> pa.Table:
        """Answer ML.X(MODEL m, rows, STRUCT(arguments)). `function`: "ML.PREDICT"."""
        from . import functions

        return functions.call(function, self._load(record), rows, arguments)

    def _load(self, record: ModelRecord) -> Trained:
        name = record.artifact
        with self._lock:
            if name not in self._loaded:
                with open(self._folder / name, "rb") as file:
                    self._loaded[name] = pickle.load(file)
            self._loaded.move_to_end(name)
            while len(self._loaded) > LOADED:
                self._loaded.popitem(last=False)
            return self._loaded[name]


def _write(rows: pa.Table | pa.RecordBatchReader, path: Path) -> None:
    batches = rows.to_batches() if isinstance(rows, pa.Table) else rows
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _train(
    folder: Path,
    progress: Callable[[dict[str, Any]], None] | None,
    cancelled: threading.Event | None,
) -> None:
    """Run `train` on a folder. BigQueryError when it fails or is cancelled."""
    # OpenMP's threads wait busily for each other: with few rows, or beside other work, that takes
    # many times longer than one thread (569 rows on a busy machine: 4 s instead of 0.2 s).
    small = (folder / "rows.arrow").stat().st_size < ONE_THREAD
    threads = {"OMP_WAIT_POLICY": "PASSIVE", **({"OMP_NUM_THREADS": "1"} if small else {})}
    with open(folder / "stderr", "wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "local_gcp.bigquery.ml.train", folder],
            cwd=ROOT,
            env={**os.environ, **threads},
            stdin=subprocess.PIPE,  # ours alone: its end tells the process that we are gone
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    lines = threading.Thread(target=_forward, args=(process.stdout, progress), daemon=True)
    lines.start()
    try:
        while process.poll() is None:
            if cancelled is not None and cancelled.is_set():
                raise BigQueryError(
                    "stopped", "Job execution was cancelled: User requested cancellation"
                )
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(POLL)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        lines.join()
        process.stdout.close()
    if process.returncode == 0:
        return
    found = folder / "error.json"
    if found.exists():
        reason, message = json.loads(found.read_text())
        raise BigQueryError(reason, message, "query")
    words = (folder / "stderr").read_text(errors="replace").strip().splitlines() or ["no words"]
    raise BigQueryError(
        "jobInternalError",
        f"The training process ended with exit code {process.returncode}: {words[-1]}",
    )


def _forward(stream: Any, progress: Callable[[dict[str, Any]], None] | None) -> None:
    for line in stream:
        if progress is not None:
            progress(json.loads(line))

"""Stores models: CREATE MODEL trains each in its own process, the ML.* functions use them.

    models = Models(home / "models")
    record = models.create(details, rows, progress, cancelled)
    catalog.put(details.ref, record.json)              # by the caller: this is the commit
    models.call("ML.PREDICT", record, rows, {"threshold": 0.4})

A model is one file, complete before its record is returned, and never changed. A kill can leave a
file that no record names: `keep` removes those at the next start.

The files are pickles, scikit-learn's usual format; loading one runs code that it contains. Only
files that this module wrote to its own folder are loaded; from clients, they contain only numbers
and texts inside a model.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import pickle
import shutil
import signal
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

from local_gcp.bigquery.errors import BigQueryError, invalid_query, not_emulated
from local_gcp.bigquery.refs import ModelRef
from local_gcp.bigquery.schema import Field

from . import options

if TYPE_CHECKING:
    from local_gcp.bigquery.sql.translated import CreateModel

    from .training import Trained

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[3]
LOADED = 8
"""Number of models in the memory cache."""
ONE_THREAD = 64 * 1024**2
"""Training rows of up to this many bytes are trained on in one thread."""
POLL = 0.1
"""Seconds between checks whether a training was cancelled."""

_SUMMARY = ("modelType", "creationTime", "lastModifiedTime", "expirationTime", "labels", "location")


@dataclass
class ModelRecord:
    """A catalog's record of a model. `resource`: REST Model without names; callers may patch it.

    `artifact`: the file's name in the folder of models.
    """

    artifact: str
    resource: dict[str, Any]

    @property
    def json(self) -> dict[str, Any]:
        """JSON for `from_json`."""
        return {"artifact": self.artifact, "resource": self.resource}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ModelRecord:
        return cls(value["artifact"], value["resource"])

    def rest(self, ref: ModelRef) -> dict[str, Any]:
        """REST Model, as models.get returns it."""
        resource = {"modelReference": ref.api, **self.resource}
        text = json.dumps(resource, sort_keys=True)
        return {"etag": hashlib.md5(text.encode()).hexdigest(), **resource}

    def summary(self, ref: ModelRef) -> dict[str, Any]:
        """REST Model with the few fields that models.list returns."""
        kept = {k: self.resource[k] for k in _SUMMARY if k in self.resource}
        return {"modelReference": ref.api, **kept}


Register = Callable[[str, str, str, Path], str]
"""Registers a model with Vertex AI: its location, the registered model's ID, a display name, the
model's file. Returns the version's number.
"""


class Models:
    """The folder of models. Thread-safe; one instance per process.

    `registry`: Vertex AI's, None where it is not emulated beside.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self.registry: Register | None = None
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob("training-*"):  # left by a killed server
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
        """Train the model of a CREATE MODEL; returns when it is stored.

        `progress` gets each iteration: index, loss, eval_loss, learn_rate, duration_ms. Once
        `cancelled` is set, the training is killed. Raises BigQueryError: `stopped` if cancelled,
        others for invalid options and data.
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
        """Remove a model's file; call it after the record is deleted."""
        with self._lock:
            self._loaded.pop(record.artifact, None)
        (self._folder / record.artifact).unlink(missing_ok=True)

    def register(self, ref: ModelRef, record: ModelRecord, model_id: str) -> None:
        """Make the model the newest version of `model_id` in Vertex AI's registry; the caller
        stores the record. One that is registered as that already stays as it is.

        https://cloud.google.com/bigquery/docs/update_vertex
        """
        run = record.resource["trainingRuns"][-1]
        known = run.get("vertexAiModelId")
        if known == model_id:
            return
        if known:
            raise invalid_query(f"{ref} is registered as the model {known} of Vertex AI already.")
        if self.registry is None:
            raise not_emulated("vertex_ai_model_id without Vertex AI")
        path = self._folder / record.artifact
        version = self.registry(record.resource["location"], model_id, ref.model, path)
        run |= {"vertexAiModelId": model_id, "vertexAiModelVersion": version}

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
        """Evaluate ML.X(MODEL m, rows, STRUCT(arguments)). `function`: e.g. "ML.PREDICT"."""
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
    """Run `train` on a folder. Raises BigQueryError if it fails or is cancelled."""
    # OpenMP's threads busy-wait for each other: with few rows or on a loaded machine, that takes
    # many times longer than one thread (569 rows on a loaded machine: 4 s instead of 0.2 s).
    small = (folder / "rows.arrow").stat().st_size < ONE_THREAD
    threads = {"OMP_WAIT_POLICY": "PASSIVE", **({"OMP_NUM_THREADS": "1"} if small else {})}
    with open(folder / "stderr", "wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "local_gcp.bigquery.ml.train", folder],
            cwd=ROOT,
            env={**os.environ, **threads},
            stdin=subprocess.PIPE,  # its end tells the process that the server is gone
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
    words = (folder / "stderr").read_text(errors="replace").strip()
    log.error("The training process ended with exit code %s:\n%s", process.returncode, words)
    if process.returncode == -signal.SIGKILL:
        raise BigQueryError(
            "resourcesExceeded",
            "local_gcp's training process was killed, probably because this machine's memory is "
            "full: train on fewer rows or columns.",
            "query",
        )
    last = (words.splitlines() or ["no words"])[-1]
    raise not_emulated(
        f"this CREATE MODEL: its training ended with exit code {process.returncode}: {last}; "
        "server.log has the traceback"
    )


def _forward(stream: Any, progress: Callable[[dict[str, Any]], None] | None) -> None:
    for line in stream:
        if progress is not None:
            progress(json.loads(line))

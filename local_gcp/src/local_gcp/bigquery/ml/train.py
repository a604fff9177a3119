"""The process that trains one model: `python -m local_gcp.bigquery.ml.train FOLDER`.

Reads `options.json` and `rows.arrow` in FOLDER, and writes `model.pickle` and `resource.json` to
it, or `error.json` if the data is unsuitable. Every iteration is a line on standard output.
Standard input is a pipe without data: when the server ends, in whatever way, the pipe ends, and
so does this process.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.imports import without_collector

from .learning import Iteration


def main(folder: Path) -> int:
    """Train; returns the process's exit code."""
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    started = datetime.now(UTC).isoformat()
    # scikit-learn imports it where it is installed, for a second, and nothing here uses it.
    sys.modules["pandas"] = None  # type: ignore[assignment]
    with without_collector():
        from . import resource, training
    del sys.modules["pandas"]
    options = json.loads((folder / "options.json").read_text())
    with pa.memory_map(str(folder / "rows.arrow")) as source:
        rows = pa.ipc.open_file(source).read_all()
        try:
            model = training.train(rows, options, _report)
        except BigQueryError as error:
            (folder / "error.json").write_text(json.dumps([error.reason, error.message]))
            return 1
    (folder / "resource.json").write_text(json.dumps(resource.of(model, started)))
    with open(folder / "model.pickle", "wb") as file:
        pickle.dump(model, file)
        file.flush()
        os.fsync(file.fileno())
    return 0


def _report(iteration: Iteration) -> None:
    print(json.dumps(dataclasses.asdict(iteration)), flush=True)


def _end_with_the_server() -> None:
    os.read(0, 1)  # not sys.stdin, whose lock a thread must not hold when Python ends
    os._exit(2)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

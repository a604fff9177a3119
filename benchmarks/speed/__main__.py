"""Measure one row in this environment: `python -m benchmarks.speed MODULE:FUNCTION ROUNDS FILE`.

FUNCTION is a context manager that takes an empty folder and gives the candidates. FILE gets the
figures as JSON; what the programs print stays apart from it.
"""

import importlib
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import rounds

if __name__ == "__main__":
    program, count, file = sys.argv[1:]
    module, _, function = program.partition(":")
    prepare = getattr(importlib.import_module(f"benchmarks.speed.{module}"), function)
    with tempfile.TemporaryDirectory() as scratch, prepare(Path(scratch)) as candidates:
        figures = rounds(candidates, int(count))
    Path(file).write_text(json.dumps(figures))

"""import_tensorflow, in a process of its own: what is frozen stays so until the process ends. What
is imported there is a module as large, in a moment.
"""

import os
import subprocess
import sys

from testbed.trainings import ROOT

_PROGRAM = """
import gc
from trainer.tensorflow_import import import_tensorflow

import_tensorflow()
first = gc.get_freeze_count()
import_tensorflow()
print(gc.isenabled(), first > 100_000, gc.get_freeze_count() - first)
"""


def test_what_is_imported_is_never_looked_through_again(tmp_path):
    (tmp_path / "tensorflow.py").write_text("objects = [[] for _ in range(200_000)]\n")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "True", "0"]

"""import_tensorflow, in a process of its own: what is frozen stays so until the process ends."""

import subprocess
import sys

_PROGRAM = """
import gc
from trainer.tensorflow_import import import_tensorflow

import_tensorflow()
first = gc.get_freeze_count()
import_tensorflow()
print(gc.isenabled(), first > 100_000, gc.get_freeze_count() - first)
"""


def test_what_is_imported_is_never_looked_through_again():
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "True", "0"]

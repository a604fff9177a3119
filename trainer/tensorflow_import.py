"""The import of TensorFlow, which takes seconds of each process that learns or serves."""

import gc
import sys


def import_tensorflow() -> None:
    """Import TensorFlow while the garbage collector rests; does nothing if it is imported.

    What is imported lives as long as the process, and the collector would look through it again and
    again as it grows: frozen, it is not looked through later either, as a step is traced.
    """
    if "tensorflow" in sys.modules:
        return
    gc.disable()
    try:
        import tensorflow  # noqa: F401
    finally:
        gc.freeze()
        gc.enable()

"""keep_freed_memory, in processes of its own: it holds for a process's whole life."""

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's own functions")

# A thread allocates and frees 100 MB in pieces, 20 times, as training steps do: glibc gives threads
# heaps beside the main one, and unmaps those that are empty.
_STEPS = """
import resource, sys, threading
from trainer import allocator

if sys.argv[1] == "keep":
    allocator.keep_freed_memory()

def steps():
    for _ in range(20):
        pieces = [bytes(5_000_000) for _ in range(20)]
        del pieces

thread = threading.Thread(target=steps)
thread.start()
thread.join()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


def _page_faults(how):
    command = [sys.executable, "-c", _STEPS, how]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_memory_that_is_freed_and_allocated_again_is_not_mapped_anew():
    assert _page_faults("keep") < _page_faults("default") / 5

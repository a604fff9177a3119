"""Steps in processes: their results, their errors, and what becomes of them."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from trainer.exporting import ExportError
from trainer.exporting.workers import Workers

ROOT = Path(__file__).parents[3]


class Sums:
    """Steps for these tests."""

    def __init__(self, first):
        self._first = first

    def add(self, item, *others):
        """The sum, and the process that made it."""
        return self._first + item + sum(others), os.getpid()

    def refuse(self, item):
        """An error of the second item."""
        if item == 1:
            raise ExportError("item 1 is wrong")
        return item

    def die(self, _):
        """Die like a process that a kernel without memory kills."""
        os.kill(os.getpid(), signal.SIGKILL)

    def wait(self, folder):
        """Says that it is there, and waits longer than the test."""
        Path(folder, str(os.getpid())).touch()
        time.sleep(600)

    def close(self):
        """Nothing to close."""


def workers(processes):
    return Workers(partial(Sums, 100), Sums(100), processes)


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_items(processes):
    with workers(processes) as some:
        sums, of = zip(*some.map(Sums.add, range(5), 1000, 2000), strict=True)
    assert sums == tuple(3100 + item for item in range(5))
    assert (set(of) == {os.getpid()}) == (processes == 1)


@pytest.mark.parametrize("processes", [1, 2])
def test_the_error_of_a_step_is_raised_here(processes):
    with workers(processes) as some, pytest.raises(ExportError, match="item 1 is wrong"):
        list(some.map(Sums.refuse, range(5)))


def test_a_process_that_is_killed_is_an_error_that_says_so():
    with workers(2) as some, pytest.raises(ExportError, match="a process of the export was killed"):
        list(some.map(Sums.die, range(5)))


PARENT = """
import sys
from functools import partial
from tests.trainer.exporting.test_workers import Sums
from trainer.exporting.workers import Workers

if __name__ == "__main__":
    with Workers(partial(Sums, 0), Sums(0), 2) as some:
        list(some.map(Sums.wait, [sys.argv[1]] * 2))
"""


def test_after_kill_9_of_the_parent_no_process_is_left(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], cwd=ROOT)
    deadline = time.monotonic() + 60
    while len(started := [int(path.name) for path in tmp_path.iterdir()]) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    while any(Path("/proc", str(pid)).exists() for pid in started):
        assert time.monotonic() < deadline, "they live"
        time.sleep(0.05)

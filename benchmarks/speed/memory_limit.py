"""A limit of memory for a process, as a container has it: a control group of its own.

Making one needs root, and of version 2 the controller `memory`, which systemd gives to all groups.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")


@contextmanager
def control_group(size: int) -> Iterator[Path]:
    """The folder of a new group with at most `size` bytes: a process joins it by writing its
    number into its cgroup.procs. All that joined must have ended at the end.

    Raises OSError where none can be made.
    """
    older = MOUNT / "memory"
    parent = Path(f"{older}{_own('memory')}") if older.exists() else MOUNT
    folder = Path(tempfile.mkdtemp(prefix="trellis-", dir=parent))
    try:
        name = "memory.limit_in_bytes" if older.exists() else "memory.max"
        (folder / name).write_text(str(size))
        yield folder
    finally:
        folder.rmdir()


def _own(controller: str) -> str:
    """This process's group of a controller of version 1."""
    lines = (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines())
    return next(path for _, names, path in lines if controller in names.split(","))

"""platform.yaml, with the machines that it names held against the table of machines."""

import os
from collections.abc import Iterator
from pathlib import Path

from trellis.workflow.pricing import machines
from trellis.workflow.spec import platform
from trellis.workflow.spec.machines import Machine
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.problems import Problem, did_you_mean


def load(folder: Path) -> Platform:
    """The group's platform, as spec.platform.load finds it. Raises FileError."""
    return read(folder / os.environ.get(platform.CHOICE, platform.FILE))


def read(path: Path) -> Platform:
    """Read and check a platform file. Raises FileError."""
    return platform.read(path, problems)


def problems(group: Platform) -> Iterator[Problem]:
    """Machines that the table does not know, or that have no price in the group's region."""
    table = machines.table(group.region)
    for section, known in (("dataflow", list(table.types)), ("compare", table.of("training"))):
        name = getattr(group, section).machine_type
        if name not in known:
            message = f"no known machine type: '{name}'; {did_you_mean(name, known)}"
            yield Problem((section, "machine_type"), message)
    compare = group.compare.machine_type
    if compare in table.of("training") and table.unpriced(Machine(type=compare)):
        yield Problem(
            ("compare", "machine_type"),
            f"Google's catalog had no {compare} in {table.region} on {table.date}; choose another, "
            "or look again with `trellis prices`",
        )

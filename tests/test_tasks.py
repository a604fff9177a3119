"""Which files name a task, beside its entry and its own modules: docs/decisions/tasks.md.

A file names a task if its code has the task's name or the constant of it, or imports a module of
the task's own. Comments, docstrings and sentences for people are no code here; a file that asks the
entry for a property, such as `of_pixels`, does not know which task has it.
"""

import ast
import functools
import re

import pytest

from tests.airflow_side import ROOT

PARTS = ("contracts/trellis_contracts", "plugins/trellis", "trainer")
ENTRY = "contracts/trellis_contracts/tasks.py"

OWN = {
    "segmentation": re.compile(r"segmentation|masks?|boundaries|mask_model|mask_answers"),
    "time_to_event": re.compile(r"time_to_event|survival(_\w+)?|cox|time"),
}
"""Names of a task's own modules: its family's, its label's form's, and their parts."""

CONSTANTS = {"segmentation": "SEGMENTATION", "time_to_event": "SURVIVAL"}

NAMING = {
    "segmentation": {
        "plugins/trellis/new/folders.py",  # images/ and masks/: no column tells it
        "plugins/trellis/new/images.py",  # the values of the masks that were found
        "plugins/trellis/workflow/spec/source.py",  # the key `masks`
        "trainer/models/backbone.py",  # a model for examples and for pixels
        "trainer/models/unet.py",  # a model for pixels alone
        "trainer/stored.py",  # a record's label that is a PNG
    },
    "time_to_event": set(),
}


def imported(node):
    """The modules that a statement imports, and what it takes of them, as if these were modules."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


@functools.cache
def nodes(source):
    """What a source's code is made of, as far as it can name a task."""
    wanted = (ast.Name, ast.Attribute, ast.Constant, ast.Import, ast.ImportFrom)
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, wanted)]


def names(source, task):
    """Whether a source's code names the task."""
    own, constant = OWN[task], CONSTANTS[task]
    for node in nodes(source):
        if isinstance(node, ast.Name | ast.Attribute):
            found = getattr(node, "id", getattr(node, "attr", None)) == constant
        elif isinstance(node, ast.Constant):
            found = node.value == task
        else:
            ours = (m for m in imported(node) if m.startswith(("trainer.", "trellis")))
            # The clock's `time` is nobody's, but that of labels/ is.
            found = any(
                own.fullmatch(module.rpartition(".")[2])
                and (not module.endswith(".time") or ".labels." in module)
                for module in ours
            )
        if found:
            return True
    return False


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("if task == SEGMENTATION: pass", True),
        ("if task == tasks.SEGMENTATION: pass", True),
        ("x = {'segmentation': 1}", True),
        ("from trainer import masks", True),
        ("import trainer.metrics.boundaries", True),
        ("if entry.of_pixels: pass", False),
        ('"""A segmentation."""\nx = "no masks in a segmentation"  # SEGMENTATION', False),
    ],
)
def test_what_names_a_task(source, expected):
    assert names(source, "segmentation") == expected


@pytest.mark.parametrize("task", NAMING)
def test_few_files_name_a_task_that_are_not_its_own(task):
    files = [file for part in PARTS for file in sorted((ROOT / part).rglob("*.py"))]
    known = {str(file.relative_to(ROOT)): file for file in files}
    assert len(known) > 500
    found = {
        name
        for name, file in known.items()
        if name != ENTRY and not OWN[task].fullmatch(file.stem) and names(file.read_text(), task)
    }
    assert found == NAMING[task]

"""Recognises a table's label: a module for each form of labels that names or values tell, of the
name that a task's entry has (trellis_contracts.tasks.Task.form). Any other one is a name of classes
or a number.
"""

import importlib
import importlib.util
from functools import reduce

from trellis.new.described import Rows
from trellis.new.labels import names
from trellis.new.labels.form import Found, LabelForm
from trellis_contracts.tasks import TASKS

_OTHERS = [form for form in dict.fromkeys(task.form for task in TASKS.values()) if form != "names"]
_FORMS: list[LabelForm] = [
    importlib.import_module(f"{__name__}.{form}").Form()
    for form in _OTHERS
    if importlib.util.find_spec(f"{__name__}.{form}")
]


def find(rows: Rows, label: str | None, task: str | None) -> Found:
    """The label and its task. label, task: what the author said. Raises DataError."""
    tried = (form.find(rows, label, task) for form in _FORMS)
    if found := next(filter(None, tried), None):
        return found
    usual = names.find(rows, label, task)
    return reduce(lambda found, form: form.doubted(found, rows), _FORMS, usual)

"""What the export of a table does with its label: a module for each form of labels, of the name
that a task's entry has (trellis_contracts.tasks.Task.form).
"""

import importlib

from trainer.exporting.tables.labels.form import LabelForm
from trellis_contracts.columns import Columns
from trellis_contracts.tasks import TASKS


def of(columns: Columns) -> LabelForm:
    """The form of a table's labels."""
    module = importlib.import_module(f"trainer.exporting.tables.labels.{TASKS[columns.task].form}")
    form: LabelForm = module.Form(columns)
    return form

"""What the workflow asks of a task's label: a module for each form of labels, of the name that a
task's entry has (trellis_contracts.tasks.Task.form). The export has the same
(trainer.exporting.tables.labels).
"""

import functools
import importlib
from collections.abc import Iterator

from trellis.workflow.labels.form import LabelForm
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import Problem
from trellis_contracts.tasks import TASKS


def of(task: str) -> LabelForm:
    """The form of a task's labels; of an unknown one, which is another problem, as of classes."""
    return _form(TASKS[task].form if task in TASKS else "names")


def problems(experiment: Experiment) -> Iterator[Problem]:
    """List what a label lacks in the experiment's file, and what only another one has."""
    own = of(experiment.task)
    for form in map(_form, dict.fromkeys(task.form for task in TASKS.values())):
        yield from form.problems(experiment, form is own)


@functools.cache
def _form(name: str) -> LabelForm:
    form: LabelForm = importlib.import_module(f"{__name__}.{name}").Form()
    return form

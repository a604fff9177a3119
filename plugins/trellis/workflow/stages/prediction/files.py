"""The stage that writes the answers of a batch prediction as files, where they are no columns.

It is a module beside this one, which the label's form names (LabelForm.written_by): it has the
Airflow task, the job that makes the run's table of what was written, and a line of the DAG's page.
"""

import importlib
from types import ModuleType

from trellis.workflow import labels
from trellis.workflow.spec.experiment import Experiment


def stage(experiment: Experiment) -> ModuleType | None:
    """The module of the stage; None if answers are columns."""
    name = labels.of(experiment.task).written_by
    return importlib.import_module(f"trellis.workflow.stages.prediction.{name}") if name else None

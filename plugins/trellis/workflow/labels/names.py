"""Labels that are names of classes."""

from trellis.workflow.labels.form import LabelForm as Form

__all__ = ["Form"]

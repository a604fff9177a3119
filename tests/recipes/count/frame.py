"""Columns of predicted counts, those of numbers."""

from trellis.workflow.lookups.predicted.regression import columns

__all__ = ["columns"]

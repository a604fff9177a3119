"""The part of the page on predicted counts, that of numbers."""

from trainer.report.predictions.regression import part

__all__ = ["part"]

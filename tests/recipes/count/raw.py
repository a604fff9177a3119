"""Counts of a table that anybody wrote, as numbers are."""

from trainer.comparison.raw_predictions.regression import answers

__all__ = ["answers"]

"""Counts that a group's own file returns, as numbers are."""

from trainer.estimators.answers.regression import checked

__all__ = ["checked"]

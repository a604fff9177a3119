"""Probabilities of sets of classes."""

from trainer.comparison.raw_predictions.of_classes import answers

__all__ = ["answers"]

"""Versions in leaderboard.json of the libraries that made the figures."""

import keras
import tensorflow as tf

from trainer.comparison import provenance


def test_versions_are_those_that_are_imported():
    """Whichever distribution TensorFlow comes from: tensorflow, or tensorflow-cpu."""
    versions = provenance.versions()
    assert versions["tensorflow"] == tf.__version__
    assert versions["keras"] == keras.__version__

import numpy as np
import pytest

from trainer.comparison import bootstrap
from trainer.metrics.outcome import Outcome


@pytest.fixture
def outcome(classifier):
    """1,000 examples of five classes."""
    labels = np.random.default_rng(1).integers(0, 5, 1000)
    return Outcome(labels, classifier(labels, 5, skill=1.5, seed=2))


@pytest.fixture
def weights(outcome):
    """500 resamples of them."""
    return np.concatenate(list(bootstrap.draw(len(outcome.labels), 500)), axis=1)

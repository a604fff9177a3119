"""A logistic regression of scikit-learn's on pixels."""

import pickle

from sklearn.linear_model import LogisticRegression

INPUTS = ["image"]
HYPERPARAMETERS = {
    "strength": {
        "default": 1.0,
        "minimum": 0.001,
        "maximum": 100,
        "description": "inverse of the penalty",
    },
    "rounds": {"default": 50, "minimum": 1, "maximum": 500, "description": "iterations at most"},
}


def fit(data, hyperparameters, report):
    """Learn from pixels from 0 to 1."""
    model = LogisticRegression(C=hyperparameters.strength, max_iter=hyperparameters.rounds)
    return Pixels(model.fit(flat(data.train), data.train.labels))


def load(folder):
    """The model that `save` wrote."""
    return Pixels(pickle.loads((folder / "pixels.pickle").read_bytes()))


def flat(batch):
    """(n, pixels) of images."""
    return batch.images().reshape(len(batch), -1) / 255


class Pixels:
    """A fitted model."""

    def __init__(self, model):
        self.model = model

    def predict(self, batch):
        """Probabilities, (n, classes)."""
        return self.model.predict_proba(flat(batch))

    def save(self, folder):
        """Write the model into an empty folder."""
        (folder / "pixels.pickle").write_bytes(pickle.dumps(self.model))

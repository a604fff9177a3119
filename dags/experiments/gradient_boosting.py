"""Gradient-boosted trees of scikit-learn's, over all columns that are numbers or categories."""

import itertools
import os
import pickle

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss

INPUTS = ["table"]
TREES = 10  # of an epoch
HYPERPARAMETERS = {
    "learning_rate": {
        "default": 0.1,
        "exclusiveMinimum": 0,
        "maximum": 1,
        "description": "what a further tree adds of its answer",
    },
    "leaves": {
        "default": 15,
        "minimum": 2,
        "maximum": 255,
        "description": "most leaves of a tree",
        "unit": "leaves",
    },
    "patience": {
        "default": 5,
        "minimum": 1,
        "maximum": 1000,
        "description": "epochs without a better loss, after which it ends",
        "unit": "epochs",
    },
}


def fit(data, hyperparameters, report, run):
    """Add ten trees an epoch until the validation split is predicted best; go on from the last."""
    model = HistGradientBoostingClassifier(
        learning_rate=hyperparameters.learning_rate,
        max_leaf_nodes=hyperparameters.leaves,
        early_stopping=False,
        warm_start=True,  # a further fit keeps the trees that are there
        random_state=run.seed,
    )
    done, best, lowest = 0, 0, float("inf")
    last = run.checkpoints / "last.pickle"
    if last.exists():
        done, best, lowest, model = pickle.loads(last.read_bytes())
    x, held_out = data.train.numpy(), data.validation.numpy()  # it knows what to do with NaN
    for epoch in range(done + 1, run.epochs + 1):
        if epoch - best > hyperparameters.patience:
            break
        model.set_params(max_iter=epoch * TREES)
        model.fit(x, data.train.labels, data.train.weights)
        found = model.predict_proba(held_out)
        loss = log_loss(data.validation.labels, found, labels=model.classes_)
        if loss < lowest:
            best, lowest = epoch, loss
        decides = loss if run.metric == "loss" else None
        report(metric=decides, epoch=epoch, held_out_loss=loss)
        # Afterwards: killed in between, it makes and reports this epoch again.
        save(last, (epoch, best, lowest, model))
    return Boosted(model, best * TREES)


def load(folder):
    """The trees that `save` wrote."""
    return Boosted(*pickle.loads((folder / "trees.pickle").read_bytes()))


class Boosted:
    """Boosted trees, of which the first `trees` count."""

    def __init__(self, model, trees):
        self.model, self.trees = model, trees

    def predict(self, batch):
        """Probabilities, (n, classes)."""
        stages = self.model.staged_predict_proba(batch.numpy())
        return next(itertools.islice(stages, self.trees - 1, None))

    def save(self, folder):
        """Write the trees into an empty folder."""
        save(folder / "trees.pickle", (self.model, self.trees))


def save(path, state):
    """Write a file that is whole or not there."""
    new = path.with_name("new.pickle")
    new.write_bytes(pickle.dumps(state))
    os.replace(new, path)

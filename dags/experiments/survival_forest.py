"""A random survival forest of scikit-survival's, over columns that are numbers or categories."""

import pickle

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sksurv.ensemble import RandomSurvivalForest
from sksurv.util import Surv

INPUTS = ["table"]
HYPERPARAMETERS = {
    "trees": {"default": 200, "minimum": 10, "maximum": 2000, "description": "trees of the forest"},
    "leaf": {
        "default": 15,
        "minimum": 1,
        "maximum": 500,
        "description": "least examples of a leaf",
        "unit": "examples",
    },
}


def fit(data, hyperparameters, report, run):
    """Learn from the train split; what counts is measured on the predictor."""
    forest = RandomSurvivalForest(
        hyperparameters.trees, min_samples_leaf=hyperparameters.leaf, random_state=run.seed
    )
    model = make_pipeline(SimpleImputer(keep_empty_features=True), forest)
    times, events = data.train.labels.T
    weights = {"randomsurvivalforest__sample_weight": data.train.weights}
    model.fit(data.train.numpy(), Surv.from_arrays(events == 1, times), **weights)
    return Forest(model, data.times)


def load(folder):
    """The forest that `save` wrote."""
    return Forest(*pickle.loads((folder / "forest.pickle").read_bytes()))


class Forest:
    """A forest, what fills its gaps, and the times at which survival is asked for."""

    def __init__(self, model, times):
        self.model, self.times = model, times

    def predict(self, batch):
        """Probabilities of no event until each of the times, (n, times)."""
        functions = self.model.predict_survival_function(batch.numpy(), return_array=True)
        places = np.searchsorted(self.model[-1].unique_times_, self.times, side="right")
        return np.hstack([np.ones((len(functions), 1)), functions])[:, places]

    def save(self, folder):
        """Write the forest into an empty folder."""
        (folder / "forest.pickle").write_bytes(pickle.dumps((self.model, self.times)))

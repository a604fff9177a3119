"""A random forest of scikit-learn's, over all columns that are numbers or categories."""

import pickle

from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

INPUTS = ["table"]
HYPERPARAMETERS = {
    "trees": {"default": 200, "minimum": 10, "maximum": 1000, "description": "trees of the forest"},
    "features": {
        "default": 0.2,
        "exclusiveMinimum": 0,
        "maximum": 1,
        "description": "share of the columns that a split looks at",
    },
    "leaf": {
        "default": 1,
        "minimum": 1,
        "maximum": 50,
        "description": "least examples of a leaf",
        "unit": "examples",
    },
}


def fit(data, hyperparameters, report, run):
    """Learn from the train split; what counts is measured on the predictor."""
    forest = RandomForestClassifier(
        hyperparameters.trees,
        max_features=hyperparameters.features,
        min_samples_leaf=hyperparameters.leaf,
        random_state=run.seed,
    )
    model = make_pipeline(SimpleImputer(keep_empty_features=True), forest)
    weights = {"randomforestclassifier__sample_weight": data.train.weights}
    model.fit(data.train.numpy(), data.train.labels, **weights)
    return Forest(model)


def load(folder):
    """The forest that `save` wrote."""
    return Forest(pickle.loads((folder / "forest.pickle").read_bytes()))


class Forest:
    """A forest and what fills its gaps."""

    def __init__(self, model):
        self.model = model

    def predict(self, batch):
        """Probabilities, (n, classes)."""
        return self.model.predict_proba(batch.numpy())

    def save(self, folder):
        """Write the forest into an empty folder."""
        (folder / "forest.pickle").write_bytes(pickle.dumps(self.model))

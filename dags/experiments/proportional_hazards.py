"""Cox's proportional hazards of scikit-survival's: the usual model of a time to an event."""

import pickle

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.util import Surv

INPUTS = ["table"]
HYPERPARAMETERS = {
    "ridge": {
        "default": 0.0001,
        "minimum": 0,
        "maximum": 1000,
        "description": "penalty of squared coefficients, of standardized columns",
    },
}


def fit(data, hyperparameters, report, run):
    """Maximize the partial likelihood of the train split, ties by Efron."""
    if not np.allclose(data.train.weights, 1):
        raise ValueError("CoxPHSurvivalAnalysis takes no weights: leave source.weight out")
    model = make_pipeline(
        SimpleImputer(keep_empty_features=True),
        StandardScaler(),
        CoxPHSurvivalAnalysis(alpha=hyperparameters.ridge, ties="efron"),
    )
    times, events = data.train.labels.T
    return Hazards(model.fit(columns(data.train), Surv.from_arrays(events == 1, times)), data.times)


def load(folder):
    """The model that `save` wrote."""
    return Hazards(*pickle.loads((folder / "hazards.pickle").read_bytes()))


class Hazards:
    """A fitted model, and the times at which survival is asked for."""

    def __init__(self, model, times):
        self.model, self.times = model, times

    def predict(self, batch):
        """Probabilities of no event until each of the times, (n, times)."""
        functions = self.model.predict_survival_function(columns(batch), return_array=True)
        known = self.model[-1].unique_times_
        places = np.searchsorted(known, self.times, side="right")
        return np.hstack([np.ones((len(functions), 1)), functions])[:, places]

    def save(self, folder):
        """Write the model into an empty folder."""
        (folder / "hazards.pickle").write_bytes(pickle.dumps((self.model, self.times)))


def columns(batch):
    """Numbers as they are, and a column of 0 and 1 for each category but the first."""
    return pd.get_dummies(batch.pandas(), drop_first=True).to_numpy(float)

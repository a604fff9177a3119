"""Scores of each model beside a constant and scikit-learn on the same split. About five minutes.

    PYTHONPATH=. .venv/trainer/bin/python benchmarks/models.py [DATA ...]

Data: scikit-learn's bundled ones; sequences of 0 to 15 numbers of which the label tells whether the
last is larger than the first, so that only the order tells; and two sequences of 5 to 15 numbers of
which it tells whether they mostly agree in sign, step by step. 80, 10 and 10 percent of the rows
(60, 20 and 20 of fewer than 1,000), in a fixed random order, are train, validation and test;
scikit-learn learns from train, and both are scored on test. Models have their defaults, but for
what MODELS changes and a learning rate of 0.003; no search. Fails unless every model beats the
constant clearly, but for those that are BLIND. README.md has the result.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from sklearn import datasets
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from testbed.tables import write_table
from testbed.trainings import arguments, write_dataset
from trainer.estimators import run
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts.dataset_features import NUMERIC, SEQUENCE

OF_TABLES = {"dense": {}, "residual": {}, "wide_and_deep": {}}
# 265 rows: what keeps a network from learning them by heart.
SMALL = {"units": 32, "dropout": 0.2, "learning_rate": 0.001}
MODELS = {
    "digits": {"dense": {}, "residual": {}, "convolutional": {}, "vision_transformer": {}},
    "wine": OF_TABLES,
    "breast cancer": OF_TABLES,
    "diabetes": dict.fromkeys(OF_TABLES, SMALL),
    "order": {
        "dense": {},
        "recurrent": {},
        "recurrent (LSTM, both directions)": {"cell": "lstm", "bidirectional": True},
        "transformer": {},
    },
    "two leads": {
        "recurrent": {"cell_units": 64},
        "recurrent (together)": {"cell_units": 64, "series": "together"},
        "transformer": {},
        "transformer (together)": {"series": "together"},
    },
}
BLIND = {("order", "dense"), ("two leads", "recurrent"), ("two leads", "transformer")}
"""Models that cannot see the informative part: the order, or the neighbourhood."""
EPOCHS = {"digits": 20, "order": 25, "diabetes": 100, "two leads": 25}
LONGEST = 15


def in_order(data):
    """Rows and labels in a fixed random order."""
    order = np.random.default_rng(0).permutation(len(data.target))
    return data.data[order], data.target[order]


def parts(count):
    """Numbers of rows of train, validation and test."""
    shares = (0.6, 0.8) if count < 1000 else (0.8, 0.9)
    most, more = (int(share * count) for share in shares)
    return most, more - most, count - more


def files(count):
    return {s: [n] for s, n in zip(("train", "validation", "test"), parts(count), strict=True)}


def digits(folder):
    x, y = in_order(datasets.load_digits())
    pixels = (x.reshape(-1, 8, 8, 1) * 255 / 16).astype(np.uint8)
    address = write_dataset(folder, pixels, y, files=files(len(y)))
    return address, "multiclass_classification", x, y


def table(load, task):
    def write(folder):
        data = load()
        x, y = in_order(data)
        names = [name.replace(" ", "_").replace("/", "_") for name in data.feature_names]
        columns = {n: (NUMERIC, x[:, i].tolist()) for i, n in enumerate(names)}
        address = write_table(folder, columns, y.tolist(), task=task, files=files(len(y)))
        return address, task, x, y

    return write


def order(folder):
    """Half of the sequences with two or more numbers rise; of each length as many."""
    random, rows = np.random.default_rng(1), 2000
    sequences = [random.normal(5, 2, random.integers(0, LONGEST + 1)).tolist() for _ in range(rows)]
    y = np.array([int(len(s) > 1 and s[0] < s[-1]) for s in sequences])
    x = np.array([s + [np.nan] * (LONGEST - len(s)) for s in sequences])
    columns = {"signal": (SEQUENCE, sequences)}
    address = write_table(folder, columns, y.tolist(), files=files(rows))
    return address, "binary_classification", x, y


def two_leads(folder):
    """The label tells whether two sequences agree in sign more often than not, step by step."""
    random, rows = np.random.default_rng(2), 2000
    first = [random.normal(size=2 * random.integers(2, 8) + 1) for _ in range(rows)]
    second = [random.normal(size=len(lead)) for lead in first]
    y = np.array(
        [int(np.mean(a * b > 0) > 0.5) for a, b in zip(first, second, strict=True)]  # odd lengths
    )
    width = max(map(len, first))
    x = np.full((rows, 2 * width), np.nan)
    for row, (a, b) in enumerate(zip(first, second, strict=True)):
        x[row, : len(a)], x[row, width : width + len(b)] = a, b
    columns = {
        "lead_1": (SEQUENCE, [lead.tolist() for lead in first]),
        "lead_2": (SEQUENCE, [lead.tolist() for lead in second]),
    }
    address = write_table(folder, columns, y.tolist(), files=files(rows))
    return address, "binary_classification", x, y


DATA = {
    "digits": digits,
    "wine": table(datasets.load_wine, "multiclass_classification"),
    "breast cancer": table(datasets.load_breast_cancer, "binary_classification"),
    "diabetes": table(lambda: datasets.load_diabetes(scaled=False), "regression"),
    "order": order,
    "two leads": two_leads,
}


def peers(name, task, x, y):
    """Scores of a constant, and of scikit-learn's models by name, on the test rows."""
    train, _, test = parts(len(y))
    x, known, truth = (x[:train], x[-test:]), y[:train], y[-test:]
    if task == "regression":

        def score(found):
            return float(np.sqrt(np.mean((found - truth) ** 2)))

        constant = score(np.full(test, known.mean()))
        models = {
            "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 3, 12))),
            "random forest": RandomForestRegressor(random_state=0),
        }
    else:

        def score(found):
            return float(np.mean(found == truth))

        constant = score(np.full(test, np.bincount(known).argmax()))
        models = {
            "logistic regression": make_pipeline(
                StandardScaler(), LogisticRegression(max_iter=1000)
            ),
            "random forest": RandomForestClassifier(random_state=0),
        }
        if name in ("order", "two leads"):
            models = {"gradient boosting": HistGradientBoostingClassifier(random_state=0)}
    return constant, {n: score(m.fit(x[0], known).predict(x[1])) for n, m in models.items()}


def trained(address, output, **flags):
    """The test metrics of a training."""
    settings = parse_flags(arguments(address, output=output, **flags), "")
    if run.train(settings, checked_dataset(settings)):
        raise SystemExit("a training was stopped")
    return json.loads(settings.places.metrics.read_text())["test"]


def main():
    rows, failed = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for name in sys.argv[1:] or DATA:
            write = DATA[name]
            address, task, x, y = write(Path(scratch) / name)
            constant, known = peers(name, task, x, y)
            metric = "rmse" if task == "regression" else "accuracy"
            peer = ", ".join(f"{peer} {score:.3g}" for peer, score in known.items())
            for model, changes in MODELS[name].items():
                flags = {"epochs": EPOCHS.get(name, 30), "learning_rate": 0.003, **changes}
                output = Path(scratch) / f"{name} {model}"
                found = trained(address, output, task=task, model=model.partition(" ")[0], **flags)[
                    metric
                ]
                better = found < 0.85 * constant if metric == "rmse" else found > constant + 0.1
                if not better and (name, model) not in BLIND:
                    failed.append(f"{model} on {name}")
                rows.append(
                    (name, metric, len(y) - sum(parts(len(y))[:2]), model, found, constant, peer)
                )
    print("\n| data | metric | test rows | model | score | constant | scikit-learn |")
    print("|---|---|---|---|---|---|---|")
    for name, metric, test, model, found, constant, peer in rows:
        print(f"| {name} | {metric} | {test} | {model} | {found:.3g} | {constant:.3g} | {peer} |")
    if failed:
        sys.exit(f"no better than a constant: {', '.join(failed)}")


if __name__ == "__main__":
    main()

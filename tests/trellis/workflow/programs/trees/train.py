"""A trial, or a full training: python -m trees.train --dataset=gs://... --depth=3 ..."""

import time

import numpy as np
import xgboost
from sklearn.metrics import log_loss, roc_auc_score

from trees import Trees
from trellis_contracts.program import inputs, outputs, terms

began = time.monotonic()
job = inputs.job()
described = job.description()
names = {feature.column: feature.name for feature in described.features}


def read(split):
    """Keys, columns by name, and labels as places among the classes."""
    rows = job.rows(split)
    columns = {name: rows[column].to_numpy() for column, name in names.items()}
    labels = [described.classes.index(label) for label in rows["label"].to_pylist()]
    return rows["key"].to_pylist(), columns, np.array(labels)


_, x, y = read("train")
matrix = xgboost.DMatrix(np.column_stack(list(x.values())).astype(float), y)
settings = {"objective": "binary:logistic", "max_depth": int(job.hyperparameters["depth"])}
model = Trees(xgboost.train(settings, matrix, job.epochs), list(x), list(described.classes))
_, x, y = read("validation")
scores = model.predict(x)
figures = {"auc": roc_auc_score(y, scores[:, 1]), "loss": log_loss(y, scores)}
job.report(figures[job.metric])
if job.whole:
    model.save(job.output / terms.MODEL)
    keys, x, _ = read("test")
    outputs.write(
        job,
        keys,
        model.predict(x),
        validation=figures,
        seconds=time.monotonic() - began,
        hyperparameters={"depth": int(job.hyperparameters["depth"])},
    )

"""A trial, or a full training: python -m trees.train --dataset=gs://... --depth=3 ...

On several workers each has a share of the rows, and the last one is lost once, after half of the
trees: all start again, and go on from the checkpoint of the first.
"""

import os
import signal
import time

import numpy as np
import xgboost
from boosted_trees import save, together
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


def lose_a_worker():
    """End the last worker; the first time alone."""
    lost = job.checkpoints / "lost"
    if workers.rank == len(workers) - 1 and not lost.exists():
        lost.touch()
        os.kill(os.getpid(), signal.SIGKILL)


workers, last = job.workers, job.checkpoints / "last.ubj"
job.checkpoints.mkdir(parents=True, exist_ok=True)
_, x, y = read("train")
share = slice(workers.rank, None, len(workers))
settings = {"objective": "binary:logistic", "max_depth": int(job.hyperparameters["depth"])}
with together(workers):
    rows = np.column_stack(list(x.values())).astype(float)
    matrix = xgboost.DMatrix(rows[share], y[share])
    trees = xgboost.Booster(settings, [matrix], last if last.exists() else None)
    begun = trees.num_boosted_rounds()
    if workers.rank == 0:
        (job.checkpoints / "begun").write_text(str(begun))
    for tree in range(begun, job.epochs):
        trees.update(matrix, tree)
        if workers.rank == 0:
            save(trees, last)
        if len(workers) > 1 and tree == job.epochs // 2:
            lose_a_worker()
if workers.rank:
    raise SystemExit

model = Trees(trees, list(x), list(described.classes))
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

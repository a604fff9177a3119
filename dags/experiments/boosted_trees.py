"""Gradient-boosted trees of XGBoost's, over columns that are numbers or categories, on any number
of workers.
"""

import contextlib
import json
import os
import socket
import time

import xgboost
from xgboost.collective import CommunicatorContext
from xgboost.tracker import RabitTracker

INPUTS = ["table"]
SEVERAL_WORKERS = True
HYPERPARAMETERS = {
    "learning_rate": {
        "default": 0.1,
        "exclusiveMinimum": 0,
        "maximum": 1,
        "description": "what a further tree adds of its answer",
    },
    "depth": {"default": 4, "minimum": 1, "maximum": 16, "description": "depth of a tree"},
    "rows": {
        "default": 0.8,
        "exclusiveMinimum": 0,
        "maximum": 1,
        "description": "share of the examples that a tree sees",
    },
    "patience": {
        "default": 20,
        "minimum": 1,
        "maximum": 1000,
        "description": "trees without a better loss, after which it ends",
        "unit": "trees",
    },
}
# Of each kind of answer: objective, and the metric on the validation split.
OBJECTIVES = {0: ("reg:squarederror", "rmse"), 2: ("binary:logistic", "logloss")}
OF_MORE = ("multi:softprob", "mlogloss")


def fit(data, hyperparameters, report, run):
    """Add a tree an epoch until the validation split is predicted best; go on from the last one."""
    h, workers, classes = hyperparameters, run.workers, len(data.classes)
    objective, metric = OBJECTIVES.get(classes, OF_MORE)
    settings = {
        "objective": objective,
        "eval_metric": metric,
        "eta": h.learning_rate,
        "max_depth": h.depth,
        # Drawn by XGBoost, whose generator begins anew where a training goes on.
        "subsample": h.rows,
        "seed": run.seed,
        **({"num_class": classes} if classes > 2 else {}),
    }
    last = run.checkpoints / "last.ubj"
    with together(workers):
        train, validation = (matrix(part, workers) for part in (data.train, data.validation))
        before = last if last.exists() else None
        trees = xgboost.Booster(settings, [train, validation], before)
        best, lowest = int(trees.attr("best") or 0), float(trees.attr("lowest") or "inf")
        for epoch in range(trees.num_boosted_rounds() + 1, run.epochs + 1):
            if epoch - best > h.patience:
                break
            trees.update(train, epoch - 1)
            told = trees.eval_set([(train, "train"), (validation, "validation")]).split()[1:]
            loss, held_out = (float(one.rpartition(":")[2]) for one in told)
            if held_out < lowest:
                best, lowest = epoch, held_out
            trees.set_attr(best=str(best), lowest=repr(lowest))
            decides = held_out if run.metric in (metric, "loss") else None
            report(metric=decides, epoch=epoch, train_loss=loss, held_out_loss=held_out)
            # Afterwards: killed in between, it makes and reports this epoch again.
            if workers.rank == 0:
                save(trees, last)
    return Trees(trees[:best], classes)


def load(folder):
    """The trees that `save` wrote."""
    trees = xgboost.Booster(model_file=folder / "trees.ubj")
    return Trees(trees, int(trees.attr("classes")))


class Trees:
    """Boosted trees; classes: 0 of a regression."""

    def __init__(self, trees, classes):
        self.trees, self.classes = trees, classes

    def predict(self, batch):
        """Probabilities, (n, classes), or values, (n,)."""
        found = self.trees.predict(xgboost.DMatrix(batch.numpy()))
        if self.classes == 2:
            return both(found)
        return found

    def save(self, folder):
        """Write the trees into an empty folder."""
        self.trees.set_attr(classes=str(self.classes))
        self.trees.save_model(folder / "trees.ubj")


def both(positive):
    """Probabilities of both classes, (n, 2). positive: those of the second one, (n,)."""
    pair = positive.repeat(2).reshape(-1, 2).astype("float64")
    pair[:, 0] = 1 - pair[:, 1]
    return pair


def matrix(examples, workers):
    """A worker's share of the examples, as XGBoost takes them; it knows what to do with NaN."""
    share = slice(workers.rank, None, len(workers))
    labels, weights = examples.labels[share], examples.weights[share]
    return xgboost.DMatrix(examples.numpy()[share], labels, weight=weights)


@contextlib.contextmanager
def together(workers):
    """The workers' sums are added up within. The first one tells the others where."""
    if len(workers) == 1:
        yield
        return
    host, _, port = workers.addresses[0].rpartition(":")
    address = (socket.gethostbyname(host), int(port))
    if workers.rank == 0:
        tracker = RabitTracker(len(workers), address[0], sortby="task")
        tracker.start()
        told = tracker.worker_args()
        tell(told, address, len(workers) - 1)
    else:
        told = asked(address)
    with CommunicatorContext(**told, dmlc_task_id=f"{workers.rank:05d}"):
        yield
    if workers.rank == 0:
        tracker.wait_for()


def tell(told, address, workers):
    """Answer each of the workers that asks at the address."""
    with socket.create_server(address) as server:
        for _ in range(workers):
            peer, _ = server.accept()
            with peer:
                peer.sendall(json.dumps(told).encode())


def asked(address):
    """What is told at the address, once somebody answers there."""
    for _ in range(600):
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(address) as peer:
            return json.loads(peer.makefile().read())
        time.sleep(0.1)
    raise TimeoutError(f"nobody answers at {address}")


def save(trees, path):
    """Write a file that is whole or not there."""
    new = path.with_name("new.ubj")
    trees.save_model(new)
    os.replace(new, path)

"""Gradient-boosted trees of XGBoost's, over all columns that are numbers or categories."""

import xgboost

INPUTS = ["table"]
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
    """Add a tree an epoch until the validation split is predicted best."""
    h, classes = hyperparameters, len(data.classes)
    objective, metric = OBJECTIVES.get(classes, OF_MORE)
    settings = {
        "objective": objective,
        "eval_metric": metric,
        "eta": h.learning_rate,
        "max_depth": h.depth,
        "subsample": h.rows,
        "seed": run.seed,
        **({"num_class": classes} if classes > 2 else {}),
    }
    train, validation = matrix(data.train), matrix(data.validation)
    trees = xgboost.train(
        settings,
        train,
        run.epochs,
        evals=[(train, "train"), (validation, "validation")],
        callbacks=[Reported(report, metric, run.metric)],
        early_stopping_rounds=h.patience,
        verbose_eval=False,
    )
    return Trees(trees[: trees.best_iteration + 1], classes)


def load(folder):
    """The trees that `save` wrote."""
    trees = xgboost.Booster(model_file=folder / "trees.ubj")
    return Trees(trees, int(trees.attr("classes")))


class Reported(xgboost.callback.TrainingCallback):
    """Reports the losses of each tree."""

    def __init__(self, report, metric, decides):
        self.report, self.metric, self.decides = report, metric, decides

    def after_iteration(self, model, epoch, evals_log):
        """Return whether to end."""
        loss, held_out = (evals_log[name][self.metric][-1] for name in ("train", "validation"))
        metric = held_out if self.decides in (self.metric, "loss") else None
        self.report(metric=metric, epoch=epoch + 1, train_loss=loss, held_out_loss=held_out)
        return False


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


def matrix(examples):
    """The examples as XGBoost takes them; it knows what to do with NaN."""
    return xgboost.DMatrix(examples.numpy(), examples.labels, weight=examples.weights)

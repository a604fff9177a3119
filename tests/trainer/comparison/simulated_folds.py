"""Cross-validations of made-up rows whose true scores are known: of three procedures, by folds.

A row's label follows from a linear model of its features, whose first half weighs as much as its
second. So `left` and `right`, which see one half each, are equally good on average, and `all`,
which sees both and chooses its penalty on the validation fold, is better than either.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

from trainer.comparison.scoreboard import metric_named
from trainer.metrics.groups import Groups
from trainer.metrics.outcome import Outcome
from trainer.metrics.regression import ValueOutcome
from trellis_contracts.folds import Folds
from trellis_contracts.tasks import CLASSIFICATION, REGRESSION

POPULATION = 3000


class TwoClasses:
    """What a label is, and what learns it: one of two classes.

    scores: linear scores from which a row's label follows. metrics: those whose intervals are
    looked at, the primary one first. penalties: of `all`, and of the others.
    """

    family = CLASSIFICATION
    classes = ("no", "yes")
    scores = 1
    metrics = ("auc", "log_loss", "brier", "accuracy")
    penalties, fixed = (0.02, 0.3, 3.0), 0.3

    def labels(self, random, scores):
        """Draw a label for each of (n, scores) scores."""
        chance = 1 / (1 + np.exp(-scores[:, 0] - 0.5))
        return (random.random(len(scores)) < chance).astype(int)

    def model(self, penalty):
        """An estimator of scikit-learn's."""
        return LogisticRegression(C=penalty)

    def answers(self, fitted, x):
        """What is predicted of each row, (n, ...)."""
        return fitted.predict_proba(x)

    def outcome(self, labels, answers, groups=None):
        """What metrics take."""
        return Outcome(labels, answers, groups=groups)

    def loss(self, labels, answers):
        """What the validation fold chooses by."""
        return -np.log(answers[range(len(labels)), labels]).mean()


class ThreeClasses(TwoClasses):
    """One of three classes."""

    classes = ("low", "middle", "high")
    scores = 3

    def labels(self, random, scores):
        # The largest of scores with Gumbel noise is drawn by their softmax.
        return (scores + random.gumbel(size=scores.shape)).argmax(axis=1)


class Numbers(TwoClasses):
    """A number, with normal noise of variance 1."""

    family = REGRESSION
    classes = ()
    metrics = ("rmse", "mae", "r2")
    penalties, fixed = (30.0, 5.0, 0.5), 5.0

    def labels(self, random, scores):
        return scores[:, 0] + random.normal(size=len(scores))

    def model(self, penalty):
        return Ridge(alpha=penalty)

    def answers(self, fitted, x):
        return fitted.predict(x)

    def outcome(self, labels, answers, groups=None):
        return ValueOutcome(labels, answers, groups)

    def loss(self, labels, answers):
        return np.square(answers - labels).mean()


class Drawn:
    """A source of rows. size: rows of a group, which share a part of their features and of what the
    label does not owe to these; 1: rows are independent. label: what is learned. metrics: by name.
    """

    def __init__(self, features, size=1, label=TwoClasses, seed=0):
        self.random = np.random.default_rng(seed)
        self.label = label()
        self.metrics = {
            name: metric_named(name, label.family, label.classes) for name in label.metrics
        }
        half = self.random.normal(size=(features // 2, label.scores))
        self.weights = 1.5 * np.tile(half / np.linalg.norm(half, axis=0), (2, 1)) / np.sqrt(2)
        self.size = size
        self.population = self.rows(POPULATION // size)

    def rows(self, units):
        """Features, labels, and the unit of each row."""
        of = np.repeat(np.arange(units), self.size)
        shared, own = (self.random.normal(size=(n, len(self.weights))) for n in (units, len(of)))
        x = own if self.size == 1 else np.sqrt(0.5) * (shared[of] + own)
        of_units = (units, self.label.scores)
        tendency = self.random.normal(size=of_units)[of] if self.size > 1 else 0.0
        return x, self.label.labels(self.random, x @ self.weights + tendency), of

    def crossed(self, units, folds: Folds):
        """Out-of-fold outcomes by procedure, and each one's outcomes on the population, one for
        each of its models.
        """
        x, y, of = self.rows(units)
        names = ("all", "left", "right")
        answers = {name: [] for name in names}
        truths = {name: [] for name in names}
        order = []
        for _ in range(folds.repeats):
            fold = self._dealt(y, of, folds.count)[of]
            for tested in range(folds.count):
                test, valid = fold == tested, fold == (tested + 1) % folds.count
                order.append(np.flatnonzero(test))
                for name, model in self._trained(x, y, ~test & ~valid, valid).items():
                    answers[name].append(model(x[test]))
                    population, labels, _ = self.population
                    truths[name].append(self.label.outcome(labels, model(population)))
        rows = np.concatenate(order)
        groups = Groups.named(of[rows]) if self.size > 1 or folds.repeats > 1 else None
        found = {
            name: self.label.outcome(y[rows], np.concatenate(answers[name]), groups)
            for name in names
        }
        return found, truths

    def _dealt(self, y, of, count):
        """The fold of each unit: those with the same classes in turn; of numbers, at random."""
        labels = np.bincount(of, y) if self.label.classes else np.zeros(of[-1] + 1)
        order = np.lexsort((self.random.random(len(labels)), labels))
        fold = np.empty(len(labels), int)
        fold[order] = np.arange(len(labels)) % count
        return fold

    def _trained(self, x, y, train, valid):
        half = len(self.weights) // 2
        label, every = self.label, slice(None)
        tried = [label.model(c).fit(x[train], y[train]) for c in label.penalties]
        losses = [label.loss(y[valid], label.answers(m, x[valid])) for m in tried]
        fitted = {"all": (tried[int(np.argmin(losses))], every)}
        for name, seen in (("left", slice(half)), ("right", slice(half, None))):
            fitted[name] = label.model(label.fixed).fit(x[train][:, seen], y[train]), seen
        return {
            name: lambda rows, model=model, seen=seen: label.answers(model, rows[:, seen])
            for name, (model, seen) in fitted.items()
        }

"""Cross-validations of made-up rows whose true scores are known: of three procedures, by folds.

A row's class follows from a linear model of its features, whose first half weighs as much as its
second. So `left` and `right`, which see one half each, are equally good on average, and `all`,
which sees both and chooses its penalty on the validation fold, is better than either.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from trainer.metrics.groups import Groups
from trainer.metrics.outcome import Outcome
from trellis_contracts.folds import Folds

CLASSES = ("no", "yes")
PENALTIES = (0.02, 0.3, 3.0)
POPULATION = 3000


class Drawn:
    """A source of rows. size: rows of a group, which share a part of their features and of what the
    label does not owe to these; 1: rows are independent.
    """

    def __init__(self, features, size=1, seed=0):
        self.random = np.random.default_rng(seed)
        half = self.random.normal(size=features // 2)
        self.weights = 1.5 * np.tile(half / np.linalg.norm(half), 2) / np.sqrt(2)
        self.size = size
        self.population = self.rows(POPULATION // size)

    def rows(self, units):
        """Features, labels, and the unit of each row."""
        of = np.repeat(np.arange(units), self.size)
        shared, own = (self.random.normal(size=(n, len(self.weights))) for n in (units, len(of)))
        x = own if self.size == 1 else np.sqrt(0.5) * (shared[of] + own)
        tendency = self.random.normal(size=units)[of] if self.size > 1 else 0.0
        chance = 1 / (1 + np.exp(-x @ self.weights - 0.5 - tendency))
        return x, (self.random.random(len(of)) < chance).astype(int), of

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
                    truths[name].append(outcome(self.population[1], model(self.population[0])))
        rows = np.concatenate(order)
        groups = Groups.named(of[rows]) if self.size > 1 or folds.repeats > 1 else None
        found = {n: outcome(y[rows], np.concatenate(answers[n]), groups) for n in names}
        return found, truths

    def _dealt(self, y, of, count):
        """The fold of each unit: those with the same labels in turn."""
        labels = np.bincount(of, y)
        order = np.lexsort((self.random.random(len(labels)), labels))
        fold = np.empty(len(labels), int)
        fold[order] = np.arange(len(labels)) % count
        return fold

    def _trained(self, x, y, train, valid):
        half = len(self.weights) // 2
        tried = [LogisticRegression(C=c).fit(x[train], y[train]) for c in PENALTIES]
        losses = [
            -np.log(m.predict_proba(x[valid])[range(sum(valid)), y[valid]]).mean() for m in tried
        ]
        best = tried[int(np.argmin(losses))]
        left = LogisticRegression(C=0.3).fit(x[train, :half], y[train])
        right = LogisticRegression(C=0.3).fit(x[train, half:], y[train])
        return {
            "all": lambda rows: best.predict_proba(rows)[:, 1],
            "left": lambda rows: left.predict_proba(rows[:, :half])[:, 1],
            "right": lambda rows: right.predict_proba(rows[:, half:])[:, 1],
        }


def outcome(labels, answers, groups=None):
    return Outcome(labels, np.column_stack([1 - answers, answers]), groups=groups)

"""Our figures beside those of well-kept libraries for one model's predictions: what
observe_scores.py has asked them. Prints the table of docs/decisions/comparison.md:

    python -m tests.trainer.peers.beside
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from trainer import calibration, conformal, postprocessing
from trainer.comparison import proportions, slices
from trainer.comparison.scoreboard import metric_named
from trainer.metrics import net_benefit
from trainer.metrics.calibration import calibration_error
from trainer.metrics.outcome import Outcome

CLASSES = ("malignant", "benign")
LEVEL = 0.95


@dataclass(frozen=True)
class Row:
    """A figure by both. within: the difference that may be, 0 where both compute the same thing."""

    what: str
    library: str
    theirs: float
    ours: float
    within: float = 1e-9


class Beside:
    """The stored answers, and ours to the same inputs."""

    def __init__(self):
        path = Path(__file__).with_name("scores.json")
        self.theirs = json.loads(path.read_text())
        self.labels, self.asked = self._both("test")

    def _both(self, split):
        one = self.theirs[split]
        positive = np.array(one["positive"])
        return np.array(one["labels"]), np.column_stack([1 - positive, positive])

    @cached_property
    def outcome(self):
        return Outcome(self.labels, self.asked)

    def rows(self) -> Iterator[Row]:
        """Every figure."""
        yield from self._scores()
        yield from self._calibration()
        yield from self._intervals()
        yield from self._slices()
        yield from self._decision_curve()
        yield from self._conformal()

    def _scores(self):
        for name in ("auc", "accuracy", "log_loss"):
            ours = metric_named(name, classes=CLASSES).point(self.outcome)
            # Log loss has a floor below the probabilities, and rows are scaled to a sum of 1.
            yield Row(name, "scikit-learn", self.theirs["scores"][name], ours, 1e-6)

    def _calibration(self):
        told = self.theirs["calibration"]
        fitted_on, own = self._both("validation")
        before = calibration_error(self.outcome)
        yield Row("calibration error, 15 bins", "netcal", told["ece"]["before"], before)
        for method, answers in told["after"].items():
            fitted = calibration.fit(method, fitted_on, own, CLASSES)
            ours = calibration.apply(fitted, self.asked, CLASSES, sets=False)
            error = calibration_error(Outcome(self.labels, ours))
            what = f"calibration error after {method}"
            yield Row(what, "netcal of scikit-learn's", told["ece"][method], error, 1e-6)
            for library, theirs in answers.items():
                farthest = np.abs(ours[:, 1] - np.array(theirs)).max()
                what = f"probabilities after {method}, largest difference"
                yield Row(what, library, 0.0, float(farthest), 1e-6)

    def _intervals(self):
        decided = self.asked.argmax(axis=1)
        hits = {
            "accuracy": decided == self.labels,
            "sensitivity": decided[self.labels == 1] == 1,
            "specificity": decided[self.labels == 0] == 0,
        }
        for name, ends in self.theirs["scores"]["intervals"].items():
            ours = proportions.share_interval(hits[name], LEVEL)
            for which, theirs, end in zip(("low", "high"), ends, ours, strict=True):
                yield Row(f"95 % interval of the {name}, {which}", "statsmodels", theirs, end)

    def _slices(self):
        site = np.array(self.theirs["test"]["site"])
        parts = [slices.Part(name, ("site",), site == name) for name in np.unique(site)]
        for name in ("accuracy", "auc"):
            metric = metric_named(name, classes=CLASSES)
            gaps = slices.gaps(parts, self.outcome, metric, 6).by_name
            for part in parts:
                theirs = self.theirs["scores"]["slices"][name][part.name]
                ours = metric.point(self.outcome.subset(part.rows))
                yield Row(f"{name} where site = {part.name}", "fairlearn", theirs, ours)
                theirs = self.theirs["scores"]["gaps"][name][part.name]
                what = f"{name} where site = {part.name}, less elsewhere"
                # Ours is rounded, as it is published.
                yield Row(what, "fairlearn", theirs, gaps[part.name].value, 1.1e-6)

    def _decision_curve(self):
        told = self.theirs["decision_curve"]
        at, positive = np.array(told["at"]), self.labels == 1
        ours = net_benefit.net_benefit(positive, self.asked[:, 1], at)
        for place in (9, 49, 89):
            what = f"net benefit at {at[place]:g}"
            yield Row(what, "dcurves", told["model"][place], float(ours[place]))
        of_all = net_benefit.of_all(positive, at)
        for what, theirs, found in (("the model", "model", ours), ("all", "all", of_all)):
            farthest = float(np.abs(found - np.array(told[theirs])).max())
            yield Row(f"net benefit of {what} at 99, largest difference", "dcurves", 0.0, farthest)

    def _conformal(self):
        told = self.theirs["conformal"]
        fitted_on, own = self._both("validation")
        made = conformal.of_classes(told["coverage"], fitted_on, own, None)
        ours = postprocessing.members(made, self.asked)
        # Ours have the most probable class in any case, where theirs may be empty.
        theirs = np.array(told["sets"]) | np.eye(2, dtype=bool)[self.asked.argmax(axis=1)]
        rows = np.arange(len(self.labels))
        reached = [float(sets[rows, self.labels].mean()) for sets in (theirs, ours)]
        yield Row("coverage of sets of classes, for 0.9", "MAPIE", *reached)
        sizes = [float(sets.sum(axis=1).mean()) for sets in (theirs, ours)]
        yield Row("classes in a set", "MAPIE", *sizes)
        numbers = {name: np.array(one) for name, one in told["numbers"].items()}
        made = conformal.of_numbers(told["coverage"], numbers["labels"], numbers["values"], None)
        ours = postprocessing.interval(made, numbers["asked"])
        reached, widths = [], []
        for ends in (numbers["intervals"], ours):
            inside = (ends[:, 0] <= numbers["truth"]) & (numbers["truth"] <= ends[:, 1])
            reached.append(float(inside.mean()))
            widths.append(float((ends[:, 1] - ends[:, 0]).mean()))
        yield Row("coverage of intervals of a number, for 0.9", "MAPIE", *reached)
        yield Row("width of an interval", "MAPIE", *widths)


if __name__ == "__main__":
    print("| figure | library | theirs | ours |")
    print("|---|---|---|---|")
    for row in Beside().rows():
        theirs, ours = (f"{value:.6g}" for value in (row.theirs, row.ours))
        print(f"| {row.what} | {row.library} | {theirs} | {ours} |")

"""Frames of a run's leaderboard.json: who won, all scores, and what trainings have chosen."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import pandas as pd

from trellis.results.selection import NoRunError
from trellis_contracts.deployment import Deployment
from trellis_contracts.leaderboard import Contender, Estimate, Leaderboard


class BoardFrames(ABC):
    """What a loaded run has of its leaderboard. Methods raise NoRunError where there is none."""

    @property
    @abstractmethod
    def uri(self) -> str:
        """The run's folder."""

    @property
    @abstractmethod
    def _board(self) -> Leaderboard:
        """The leaderboard. Raises NoRunError."""

    @property
    @abstractmethod
    def _deployment(self) -> Deployment | None:
        """What became of the deployment; None if there was none."""

    @property
    def board(self) -> Mapping[str, Any]:
        """The content of leaderboard.json."""
        return self._board.to_document()

    @property
    def winner(self) -> str:
        """Name of the leaderboard's first contender."""
        return self._board.winner

    @property
    def selected(self) -> str | None:
        """Name of the training that the validation split selected. The
        winner may be another one, a baseline. None if no training could be scored.
        """
        found = self._board.selected
        return found.name if found else None

    @property
    def served(self) -> str | None:
        """Name of the training that this run put into service; None if it put none."""
        found = self._board.served(self._deployment)
        return found.name if found else None

    def metrics(self) -> pd.DataFrame:
        """A row for each metric of the leaderboard, by name.

        Columns: title, average (what it is an average over), goal, chance (what an answer scores
        that does not look at the example) and description. attrs: positive, of two classes the one
        that is meant.
        """
        columns = ("title", "average", "goal", "chance", "description")
        rows = {
            name: {column: getattr(about, column) for column in columns}
            for name, about in self._board.metrics.items()
        }
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        frame.attrs["positive"] = self._board.positive
        return frame.rename_axis("name")

    def leaderboard(self) -> pd.DataFrame:
        """A row for each contender, in the leaderboard's order, by name.

        Columns: rank, kind, status, reason, selected, trial, seconds, cost_usd; for each metric its
        value, and METRIC.low and METRIC.high; and parameters.NAME for each hyperparameter.
        """
        columns = ("rank", "kind", "status", "reason", "selected", "trial", "seconds", "cost_usd")
        rows = []
        for contender in self._board.contenders:
            row = {name: getattr(contender, name) for name in ("name", *columns)}
            for name, score in contender.metrics.items():
                row |= _scored(name, score)
            rows.append(row | parameters(contender.hyperparameters))
        return pd.DataFrame(rows).set_index("name")

    def seeds(self) -> pd.DataFrame:
        """A row for each seed with which the selected training was repeated, its own first.

        Columns: the metrics on the test split. Raises NoRunError if `train.seeds` is 1.
        """
        repeats = self._board.repeats
        if repeats is None:
            raise NoRunError(f"{self.uri} has no repeats: `train.seeds` asks for none")
        columns = {name: spread.values for name, spread in repeats.metrics.items()}
        return pd.DataFrame(columns, index=pd.Index(repeats.seeds, name="seed"))

    def folds(self) -> pd.DataFrame:
        """A row for each fold of a cross-validation, by REPEAT-FOLD, with what was chosen in it.

        Columns: examples, training, trial, model, best_epoch; the hyperparameters that were
        searched; CONTENDER METRIC for each score in the fold that all folds have. attrs: count,
        repeats, rows, widening (of intervals), deployed_on. Raises NoRunError without folds.
        """
        found = self._board.folds
        if found is None:
            raise NoRunError(f"{self.uri} has no folds: `train.folds` asks for none")
        rows = []
        for one in found.choices:
            names = ("part", "examples", "training", "trial", "model", "best_epoch")
            row = {name: getattr(one, name) for name in names} | parameters(one.hyperparameters)
            for contender, spreads in found.spread.items():
                for metric, spread in spreads.items():
                    row[f"{contender} {metric}"] = spread.values[found.place(one.part)]
            rows.append(row)
        frame = pd.DataFrame(rows).set_index("part")
        kept = ("count", "repeats", "rows", "widening", "deployed_on")
        frame.attrs = {name: getattr(found, name) for name in kept}
        return frame

    def importance(self) -> pd.DataFrame:
        """A row for each feature, by name, the most important first: permutation importance of the
        selected training, as what it loses in the metric of the ranking.

        Columns: value, low, high. attrs: of, metric, examples, permutations. Raises NoRunError
        where there is none: of images, or if it could not be measured.
        """
        found = self._board.importance
        if found is None:
            raise NoRunError(f"{self.uri} has no permutation importance")
        rows = [(one.feature, one.value, *one.interval) for one in found.features]
        frame = pd.DataFrame(rows, columns=["feature", "value", "low", "high"])
        named = ("of", "metric", "examples", "permutations")
        frame.attrs = {name: getattr(found, name) for name in named}
        return frame.set_index("feature")

    def slices(self) -> pd.DataFrame:
        """A row for each slice of the test split and contender, the largest gaps first.

        Columns: examples, groups (None where none decide the split), judged; gap, gap.low and
        gap.high: of one training, its score in the slice minus that on all other test examples, by
        the metric of the ranking; for each metric its value, METRIC.low and METRIC.high. attrs: of,
        metric, comparisons and level of the gaps. Raises NoRunError if the file has no `slices`.
        """
        found = self._board.slices
        if found is None:
            raise NoRunError(f"{self.uri} has no slices: the experiment names none")
        rows = []
        for one in found.slices:
            about = {name: getattr(one, name) for name in ("examples", "groups", "judged")}
            for contender, scores in one.metrics.items():
                gap = one.gap if contender == found.of else None
                row = {"slice": one.name, "contender": contender, **about}
                row |= _scored("gap", gap) if gap else {}
                for name, score in scores.items():
                    row |= _scored(name, score)
                rows.append(row)
        frame = pd.DataFrame(rows).set_index(["slice", "contender"])
        named = ("of", "metric", "comparisons", "level")
        frame.attrs = {name: getattr(found, name) for name in named}
        return frame

    def calibration(self) -> pd.DataFrame:
        """A row for each training that is calibrated, by name: what that has changed on the test
        split.

        Columns: method, examples (of the validation split, which it was fitted on), temperature,
        remark; of the calibration error, Brier score and log loss METRIC as it is served, and
        METRIC.before; of the last two, which are proper scoring rules, METRIC.change; each of them
        with .low and .high. `figure("calibration/TRAINING").data` has the reliability diagram.
        Raises NoRunError without `calibrate`.
        """
        rows = {}
        for contender, facts in self._trained("calibration", "calibrate"):
            names = ("method", "examples", "temperature", "remark")
            row = {name: getattr(facts, name) for name in names}
            for name, before in facts.before.items():
                row |= _scored(name, contender.metrics[name]) | _scored(f"{name}.before", before)
                if change := facts.change.get(name):
                    row |= _scored(f"{name}.change", change)
            rows[contender.name] = row
        return _by_name(rows)

    def decisions(self) -> pd.DataFrame:
        """A row for each training that has chosen a threshold by the experiment's `decision`, by
        name: what the threshold does on the test split.

        Columns: above (which probability of the positive class that is decided); sensitivity,
        specificity, ppv, npv and accuracy as METRIC, and as METRIC.at_half if the more probable
        class were decided; of costs also cost, cost.at_half and cost.change, of an example, each of
        them with .low and .high, and cost.all and cost.none, if all examples or none were decided
        as positive. attrs: positive; rule, as in the file. Raises NoRunError without `decision`.
        """
        rows, rule = {}, None
        for contender, facts in self._trained("decision", "decision"):
            rule, row = facts.rule, {"above": facts.above}
            for name, at_half in facts.at_half.items():
                row |= _scored(name, contender.metrics[name]) | _scored(f"{name}.at_half", at_half)
            if cost := facts.cost:
                row |= _scored("cost", cost.model) | _scored("cost.at_half", cost.at_half)
                row |= _scored("cost.change", cost.change)
                row |= {"cost.all": cost.all, "cost.none": cost.none}
            rows[contender.name] = row
        frame = _by_name(rows)
        frame.attrs = {"positive": self._board.positive, "rule": rule.to_document() if rule else {}}
        return frame

    def abstention(self) -> pd.DataFrame:
        """A row for each training that hands examples back, by name.

        Columns: share (as asked for), answered (of the test split), risk (wrong decisions among the
        answered), risk_of_all, and cost (of an answered example, if `decision` has costs), with
        .low and .high. Raises NoRunError without `abstain`.
        """
        rows = {}
        for contender, facts in self._trained("abstention", "abstain"):
            row = {"share": facts.share}
            for name in ("answered", "risk", "risk_of_all", "cost"):
                if (score := getattr(facts, name)) is not None:
                    row |= _scored(name, score)
            rows[contender.name] = row
        return _by_name(rows)

    def coverage(self) -> pd.DataFrame:
        """A row for each training that gives conformal sets or intervals, by name.

        Columns: coverage (as asked for), examples and groups (of the validation split, which they
        are made by), reached (share of the test split that they have the truth of) and
        reached.CLASS, with .low and .high, and size (mean number of classes in a set, or width of
        an interval). Raises NoRunError without `coverage`.
        """
        rows = {}
        for contender, facts in self._trained("conformal", "coverage"):
            names = ("coverage", "examples", "groups", "size")
            row = {name: getattr(facts, name) for name in names} | _scored("reached", facts.reached)
            for name, reached in facts.of_class.items():
                row |= _scored(f"reached.{name}", reached)
            rows[contender.name] = row
        return _by_name(rows)

    def _trained(self, what: str, key: str) -> list[tuple[Contender, Any]]:
        """The trainings that have such facts. Raises NoRunError if none has."""
        found = [
            (contender, facts)
            for contender in self._board.contenders
            if contender.training and (facts := getattr(contender.training, what)) is not None
        ]
        if not found:
            raise NoRunError(f"{self.uri} has none of this: no training has a `{key}`")
        return found


def parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of hyperparameters."""
    return {f"parameters.{name}": value for name, value in values.items()}


def _scored(name: str, score: Estimate) -> dict[str, float]:
    return {name: score.value, f"{name}.low": score.low, f"{name}.high": score.high}


def _by_name(rows: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("name")

"""Selects the candidate that is best on held-out data, within a time limit.

A candidate is fitted to the training rows and scored on the validation rows. When those are too
few to distinguish candidates, or lack a class, it is scored by 3-fold cross-validation over both
instead. Test rows never come here: a `search` is not given them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from local_gcp.vertex.automl.candidates import SEED, Candidate
from local_gcp.vertex.automl.features import DataError
from local_gcp.vertex.automl.inputs import CLASSIFICATION

FEW = 20
"""Validation rows that are too few to choose by."""
FOLDS = 3
LEAST, MOST, PATIENCE = 8, 16, 5
"""Limits of the search: candidates that are tried in any case, and at most; and candidates in a row
that bring nothing new."""

ONE_THREAD = 4 * 1024**2
"""Features of up to this many bytes are computed with in one thread. BLAS's and OpenMP's threads
busy-wait for each other: 48 small images took 29 s of processor on two cores instead of 12 s, and
more than twice as long on a loaded machine."""

_RING_SECONDS = 0.1
"""Seconds between repetitions of the alarm that ends a search."""


@dataclasses.dataclass(frozen=True)
class Data:
    """Rows as a model takes them."""

    x: np.ndarray
    """float[rows, features]."""
    y: np.ndarray
    """int[rows] of classes, or float[rows]."""
    weights: np.ndarray
    """float[rows]."""

    def __len__(self) -> int:
        return len(self.y)

    def __add__(self, other: Data) -> Data:
        return Data(
            np.vstack([self.x, other.x]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.weights, other.weights]),
        )

    def at(self, rows: np.ndarray) -> Data:
        """The data of these rows."""
        return Data(self.x[rows], self.y[rows], self.weights[rows])

    def sample(self, most: int) -> Data:
        """Draw at most `most` rows, the same each time."""
        if len(self) <= most:
            return self
        dice = np.random.default_rng(SEED)
        return self.at(np.sort(dice.choice(len(self), most, replace=False)))


@dataclasses.dataclass(frozen=True)
class Trial:
    """A candidate that was tried."""

    candidate: Candidate
    score: float
    """By the objective, in its own direction: an area under a curve is at most 1."""
    seconds: float


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of a search."""

    best: Candidate
    trials: list[Trial]
    held_out: tuple[np.ndarray, np.ndarray]
    """(targets, predictions) of the best one on rows that it had not been fitted to."""
    model: Any
    """The best one as it was fitted to the training rows; None if it was cross-validated."""
    how: str
    """Description of the rows that the choice is based on."""
    out_of_time: bool
    """Ended by the budget, else by the early stop."""


class OutOfTimeError(Exception):
    """The budget is used up."""


@dataclasses.dataclass(frozen=True)
class Objective:
    """Objective by which candidates are compared."""

    measure: Callable[[np.ndarray, np.ndarray, Any], float]
    """measure(targets, predictions, weights)"""
    maximize: bool

    def loss(self, score: float) -> float:
        """A score as something to be minimized."""
        return -score if self.maximize else score


def search(
    training: Data,
    validation: Data,
    kind: str,
    classes: int,
    objective: Objective,
    candidates: Iterator[Candidate],
    deadline: float,
    early_stopping: bool,
    say: Callable[[str], None],
) -> Outcome:
    """Try candidates until `deadline` (time.monotonic), or until nothing better is expected.

    `classes`: how many; 0 for a regression. DataError when not even one could be tried in time.
    """
    folds, how = _folds(training, validation, kind, classes)
    trials: list[Trial] = []
    best: tuple[float, Candidate, Any, Any] | None = None
    since = 0
    try:
        with alarm(deadline):
            for candidate in candidates:
                patient = len(trials) < LEAST or (since < PATIENCE and len(trials) < MOST)
                if early_stopping and not patient:
                    break
                started = time.monotonic()
                (targets, predictions, weights), model = _held_out(candidate, folds, kind, classes)
                score = objective.measure(targets, predictions, weights)
                loss = objective.loss(score)
                trials.append(Trial(candidate, score, time.monotonic() - started))
                since += 1
                if np.isfinite(loss) and (best is None or loss < best[0] - 1e-9):
                    best, since = (loss, candidate, (targets, predictions), model), 0
                say(f"trial {len(trials)}: {candidate}: {score:.5g} ({trials[-1].seconds:.1f} s)")
            out_of_time = False
    except OutOfTimeError:
        out_of_time = True
    if best is None:
        raise DataError(
            "The training budget was not enough to train one model on this data."
            if out_of_time
            else "No model could be trained on this data."
        )
    _, candidate, held_out, model = best
    model = model if len(folds) == 1 else None
    return Outcome(candidate, trials, held_out, model, how, out_of_time)


def fit(candidate: Candidate, data: Data, kind: str) -> Any:
    """A model of the candidate, fitted to all of `data`."""
    from sklearn.exceptions import ConvergenceWarning

    model = candidate.build(kind)
    with warnings.catch_warnings(), _threads(data.x):
        warnings.simplefilter("ignore", ConvergenceWarning)  # its score shows the consequence
        return model.fit(data.x, data.y, sample_weight=data.weights)


def predict(model: Any, x: np.ndarray, kind: str, classes: int) -> np.ndarray:
    """float[rows, classes] probabilities of the classes 0.., or float[rows] values."""
    if not len(x):  # which scikit-learn refuses
        return np.zeros((0, classes) if kind == CLASSIFICATION else 0)
    with _threads(x):
        if kind != CLASSIFICATION:
            return np.asarray(model.predict(x), dtype=np.float64)
        result = np.zeros((len(x), classes))
        result[:, model.classes_] = model.predict_proba(x)
        return result


def _threads(x: np.ndarray) -> contextlib.AbstractContextManager[Any]:
    """Limits the threads of what is computed with `x` in the block."""
    return threadpool_limits(1 if x.nbytes <= ONE_THREAD else None)


@contextlib.contextmanager
def alarm(deadline: float) -> Iterator[None]:
    """Raise OutOfTimeError in the block, which is the main thread's, when `deadline` has come.

    It is repeated: where Python cannot raise, as in a destructor that the garbage collector runs,
    an exception is only printed.
    """
    over = False

    def ring(*_: Any) -> None:
        if not over:
            raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(deadline - time.monotonic(), 1e-3), _RING_SECONDS)
    try:
        yield
    finally:
        try:
            over = True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _folds(
    training: Data, validation: Data, kind: str, classes: int
) -> tuple[list[tuple[Data, Data]], str]:
    """[(rows to fit, rows to score)], and a description of them."""
    enough = len(validation) >= FEW
    if kind == CLASSIFICATION:
        enough &= len(set(validation.y)) == len(set(training.y)) == classes
    if enough:
        return [(training, validation)], f"the {len(validation)} validation rows"
    from sklearn.model_selection import KFold, StratifiedKFold

    every = training + validation if len(validation) else training
    if kind == CLASSIFICATION and np.bincount(every.y).min() >= FOLDS:
        splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    elif len(every) >= FOLDS:
        splitter = KFold(FOLDS, shuffle=True, random_state=SEED)
    else:
        raise DataError(f"There are only {len(every)} rows to train on.")
    folds = [
        (every.at(fitted), every.at(scored)) for fitted, scored in splitter.split(every.x, every.y)
    ]
    why = f"{len(validation)} validation rows are too few or lack a class"
    return folds, f"{FOLDS}-fold cross-validation over {len(every)} rows ({why})"


def _held_out(
    candidate: Candidate, folds: list[tuple[Data, Data]], kind: str, classes: int
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], Any]:
    """((targets, predictions, weights) of the rows that are scored on, the model of the last)."""
    targets, predictions, weights = [], [], []
    for fitted, scored in folds:
        model = fit(candidate, fitted, kind)
        predictions.append(predict(model, scored.x, kind, classes))
        targets.append(scored.y)
        weights.append(scored.weights)
    return tuple(map(np.concatenate, (targets, predictions, weights))), model

"""The candidate models: a few families of scikit-learn, each with a few settings.

A fixed list comes first, the simplest first; then, without end, random settings of the same
families, for a search that uses all of its budget.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from local_gcp.vertex.automl.inputs import CLASSIFICATION

SEED = 1


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A family and its settings."""

    family: str
    settings: Mapping[str, Any]

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={_short(value)}" for name, value in self.settings.items())
        return f"{self.family}({settings})"

    def build(self, prediction_type: str) -> Any:
        """An estimator, not fitted yet."""
        return _FAMILIES[self.family](prediction_type, dict(self.settings))


def tabular(seed: int = SEED) -> Iterator[Candidate]:
    """Candidates for columns of a table."""
    yield Candidate("linear", {"strength": 1.0})
    yield Candidate("boosted_trees", {"learning_rate": 0.1, "leaves": 31})
    yield Candidate("random_forest", {"trees": 200, "leaf": 1})
    yield Candidate("neural_network", {"units": 32, "decay": 1e-3})
    yield Candidate("linear", {"strength": 0.03})
    yield Candidate("boosted_trees", {"learning_rate": 0.05, "leaves": 7})
    yield Candidate("extra_trees", {"trees": 200, "leaf": 2})
    yield Candidate("linear", {"strength": 30.0})
    yield from _random(
        ("linear", "boosted_trees", "random_forest", "extra_trees", "neural_network"), seed
    )


def images(seed: int = SEED) -> Iterator[Candidate]:
    """Candidates for pixels; boosted trees are too slow for so many columns."""
    yield Candidate("linear", {"strength": 0.01})
    yield Candidate("extra_trees", {"trees": 200, "leaf": 1})
    yield Candidate("neural_network", {"units": 128, "decay": 1e-2})
    yield Candidate("linear", {"strength": 1.0})
    yield from _random(("linear", "extra_trees", "neural_network"), seed)


def _random(families: tuple[str, ...], seed: int) -> Iterator[Candidate]:
    dice = np.random.default_rng(seed)
    while True:
        family = str(dice.choice(families))
        yield Candidate(
            family,
            {
                "linear": lambda: {"strength": float(10 ** dice.uniform(-4, 3))},
                "boosted_trees": lambda: {
                    "learning_rate": float(10 ** dice.uniform(-2, -0.5)),
                    "leaves": int(dice.integers(3, 64)),
                },
                "random_forest": lambda: {"trees": 300, "leaf": int(dice.integers(1, 20))},
                "extra_trees": lambda: {"trees": 300, "leaf": int(dice.integers(1, 20))},
                "neural_network": lambda: {
                    "units": int(2 ** dice.integers(4, 9)),
                    "decay": float(10 ** dice.uniform(-5, 0)),
                },
            }[family](),
        )


def _linear(kind: str, settings: dict[str, Any]) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge

    if kind == CLASSIFICATION:
        return LogisticRegression(C=settings["strength"], max_iter=1000)
    return Ridge(alpha=1 / settings["strength"])


def _boosted_trees(kind: str, settings: dict[str, Any]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    model = (
        HistGradientBoostingClassifier if kind == CLASSIFICATION else HistGradientBoostingRegressor
    )
    return model(
        learning_rate=settings["learning_rate"],
        max_leaf_nodes=settings["leaves"],
        max_iter=150,
        random_state=SEED,
    )


def _random_forest(kind: str, settings: dict[str, Any]) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    model = RandomForestClassifier if kind == CLASSIFICATION else RandomForestRegressor
    return model(settings["trees"], min_samples_leaf=settings["leaf"], random_state=SEED)


def _extra_trees(kind: str, settings: dict[str, Any]) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    model = ExtraTreesClassifier if kind == CLASSIFICATION else ExtraTreesRegressor
    return model(settings["trees"], min_samples_leaf=settings["leaf"], random_state=SEED)


def _neural_network(kind: str, settings: dict[str, Any]) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.preprocessing import StandardScaler

    options = {
        "hidden_layer_sizes": (settings["units"],),
        "alpha": settings["decay"],
        "max_iter": 200,
        "n_iter_no_change": 10,
        "tol": 1e-3,
        "random_state": SEED,
    }
    if kind == CLASSIFICATION:
        return MLPClassifier(**options)
    # Its loss is made for targets of about unit size.
    return TransformedTargetRegressor(MLPRegressor(**options), transformer=StandardScaler())


_FAMILIES = {
    "linear": _linear,
    "boosted_trees": _boosted_trees,
    "random_forest": _random_forest,
    "extra_trees": _extra_trees,
    "neural_network": _neural_network,
}


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)

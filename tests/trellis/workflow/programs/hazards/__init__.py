"""Cox's proportional hazards with NumPy alone, in an image that knows nothing of Trellis."""

import json
from dataclasses import asdict, dataclass

import numpy as np

_STEPS = 20


@dataclass(frozen=True)
class Hazards:
    """mean, scale: of the columns before they are standardized. hazard: cumulative, of a row with
    coefficients' sum 0, at each of the times. horizons: those of the times that are served.
    """

    columns: list[str]
    mean: list[float]
    scale: list[float]
    coefficients: list[float]
    hazard: list[float]
    times: list[float]
    horizons: list[float]

    @classmethod
    def fit(cls, columns, times, events, label, ridge):
        """Maximize the partial likelihood, ties by Breslow, less the ridge; then his baseline."""
        values = np.column_stack([*columns.values()]).astype(float)
        mean, scale = values.mean(axis=0), values.std(axis=0)
        rows = (values - mean) / scale
        coefficients = np.zeros(rows.shape[1])
        for _ in range(_STEPS):
            total, first, second = at_risk(rows, times, np.exp(rows @ coefficients))
            means = first / total[:, None]
            spread = second / total[:, None, None] - means[:, :, None] * means[:, None, :]
            slope = (rows - means)[events].sum(axis=0) - ridge * coefficients
            curvature = spread[events].sum(axis=0) + ridge * np.eye(len(coefficients))
            coefficients = coefficients + np.linalg.solve(curvature, slope)
        total, _, _ = at_risk(rows, times, np.exp(rows @ coefficients))
        steps = np.where(events, 1 / total, 0)
        hazard = [float(steps[times <= time].sum()) for time in label.times]
        found = [array.tolist() for array in (mean, scale, coefficients)]
        return cls([*columns], *found, hazard, [*label.times], [*label.horizons])

    def predict(self, columns):
        """(n, 1 + times) log-hazards, and probabilities of survival."""
        values = np.column_stack([columns[name] for name in self.columns]).astype(float)
        risks = (values - self.mean) / self.scale @ self.coefficients
        curves = np.exp(-np.exp(risks)[:, None] * self.hazard)
        return np.concatenate([risks[:, None], curves], axis=1)

    def save(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hazards.json").write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, folder):
        return cls(**json.loads((folder / "hazards.json").read_text()))


def at_risk(rows, times, weights):
    """Sums of the weights, (n,), the weighted rows, (n, c), and their products, (n, c, c), over
    the rows that are at risk at each one's time.
    """
    order = np.argsort(-times, kind="stable")
    place = np.searchsorted(-times[order], -times, side="right") - 1
    weighted = weights[order][:, None] * rows[order]
    products = weighted[:, :, None] * rows[order][:, None, :]
    sums = (weights[order], weighted, products)
    return [np.cumsum(one, axis=0)[place] for one in sums]


def concordance(risks, times, events):
    """Harrell's: of an earlier event and a row that was seen for longer, whose risk is higher."""
    later = (times[:, None] < times) | ((times[:, None] == times) & ~events)
    pairs = later & events[:, None]
    above = (risks[:, None] > risks) + (risks[:, None] == risks) / 2
    return float(above[pairs].mean())

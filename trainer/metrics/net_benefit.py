"""Net benefit of a decision between two classes: true positives, less false positives in the
exchange rate of the threshold (Vickers & Elkin, https://doi.org/10.1177/0272989X06295361).

Who decides above a probability t finds that one missed example is worth (1 - t) / t false alarms.
So the net benefit at t, for each example, is TP / n - FP / n t / (1 - t): as many true positives as
would be found without any false alarm.
"""

import numpy as np


def net_benefit(
    positive: np.ndarray, probabilities: np.ndarray, thresholds: np.ndarray
) -> np.ndarray:
    """(m,) net benefit of deciding above each of (m,) thresholds, from 0 to 1 without 1.

    positive: (n,) bool. probabilities: (n,) of the positive class.
    """
    n = len(positive)
    hits, alarms = (
        np.count_nonzero(of) - np.searchsorted(np.sort(probabilities[of]), thresholds, side="right")
        for of in (positive, ~positive)
    )
    found: np.ndarray = hits / n - alarms / n * thresholds / (1 - thresholds)
    return found


def of_all(positive: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """(m,) net benefit of deciding all examples as positive."""
    share = float(np.mean(positive))
    found: np.ndarray = share - (1 - share) * thresholds / (1 - thresholds)
    return found

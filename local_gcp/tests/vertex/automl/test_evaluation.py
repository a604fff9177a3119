"""Google's metrics, on cases that can be counted by hand."""

import numpy as np
import pytest
from sklearn import metrics

from local_gcp.vertex.automl import evaluation
from local_gcp.vertex.automl.features import DataError

SPECS = [{"displayName": "a"}, {"displayName": "b"}]
LABELS = np.array([0, 0, 1, 1])
SCORES = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.2, 0.8]])


def test_counts_at_each_threshold():
    found = evaluation.classification(LABELS, SCORES, SPECS)
    entries = {entry["confidenceThreshold"]: entry for entry in found["confidenceMetrics"]}
    assert list(entries) == evaluation.THRESHOLDS
    assert entries[0.0]["recall"] == 1
    assert entries[0.0]["precision"] == 0.5, "every class of every row is returned"
    half = entries[0.5]
    assert (half["truePositiveCount"], half["falsePositiveCount"]) == ("3", "1")
    assert (half["recall"], half["precision"], half["f1Score"]) == (0.75, 0.75, 0.75)
    assert half["falsePositiveRate"] == 0.25
    high = entries[0.85]
    assert (high["recall"], high["precision"], high["recallAt1"]) == (0.25, 1, 0.25)
    assert found["confusionMatrix"] == {"annotationSpecs": SPECS, "rows": [[1, 1], [0, 2]]}


def test_images_have_more_thresholds_and_fewer_figures():
    found = evaluation.image_classification(LABELS, SCORES, SPECS)
    every = evaluation.classification(LABELS, SCORES, SPECS)
    assert set(found) == {"auPrc", "logLoss", "confidenceMetrics", "confusionMatrix"}
    entries = found["confidenceMetrics"]
    assert len(entries) == 35
    assert entries[0] == {"precision": 0.5, "recall": 1.0}, "at 0, which JSON leaves out"
    assert entries[-1] == {"confidenceThreshold": 1.0, "precision": 1.0}, "no recall"
    same = {entry["confidenceThreshold"]: entry for entry in every["confidenceMetrics"]}
    for entry in entries[1:]:
        for name, value in entry.items():
            assert value == same.get(entry["confidenceThreshold"], entry)[name]


def test_areas_are_micro_averaged():
    found = evaluation.classification(LABELS, SCORES, SPECS)
    truth = np.eye(2)[LABELS]
    assert found["auRoc"] == metrics.roc_auc_score(truth, SCORES, average="micro")
    assert found["auPrc"] == metrics.average_precision_score(truth, SCORES, average="micro")
    assert found["logLoss"] == pytest.approx(metrics.log_loss(LABELS, SCORES))


def test_regression_leaves_out_what_is_not_defined():
    found = evaluation.regression(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 4.0]))
    assert found["rootMeanSquaredError"] == pytest.approx((1 / 3) ** 0.5)
    assert found["meanAbsoluteError"] == pytest.approx(1 / 3)
    assert found["meanAbsolutePercentageError"] == pytest.approx(100 / 6)
    assert found["rSquared"] == pytest.approx(1 - 1 / (14 / 3))
    assert found["rootMeanSquaredLogError"] == pytest.approx(np.log(4 / 3) / 3**0.5)
    assert set(evaluation.regression(np.array([-1.0, 0.0]), np.array([1.0, 1.0]))) == {
        "rootMeanSquaredError",
        "meanAbsoluteError",
        "rSquared",
    }


def test_objectives_tell_better_predictions_from_worse():
    worse = SCORES[:, ::-1]
    for name, value in {
        "minimize-log-loss": None,
        "maximize-au-roc": None,
        "maximize-au-prc": None,
        "maximize-precision-at-recall": 0.5,
        "maximize-recall-at-precision": 0.9,
    }.items():
        objective = evaluation.objective(name, value, 2)
        better, less = (objective.measure(LABELS, p, np.ones(4)) for p in (SCORES, worse))
        assert objective.loss(better) < objective.loss(less)
        assert better >= 0  # its own value: no area under a curve is negative
        assert objective.maximize == name.startswith("maximize-")
    for name in ("minimize-rmse", "minimize-mae", "minimize-rmsle"):
        loss = evaluation.objective(name, None, 0).measure
        truth = np.array([1.0, 2.0])
        assert loss(truth, truth, None) == 0 < loss(truth, truth + 1, None)
    with pytest.raises(DataError, match="is for two classes"):
        evaluation.objective("maximize-au-roc", None, 3)

"""Metrics of numbers."""

from trellis_contracts.metrics.metric import Metric
from trellis_contracts.tasks import REGRESSION

METRICS = {
    "rmse": Metric(
        "minimize",
        (REGRESSION,),
        "root of the mean squared error, in the label's unit",
    ),
    "mae": Metric(
        "minimize",
        (REGRESSION,),
        "mean absolute error, in the label's unit",
    ),
    "median_absolute_error": Metric(
        "minimize",
        (REGRESSION,),
        "median absolute error, in the label's unit",
    ),
    "r2": Metric(
        "maximize",
        (REGRESSION,),
        "coefficient of determination: share of the labels' variance on the split that is "
        "explained; 0 is as good as predicting their mean",
    ),
}

"""Metrics of counts."""

from trellis_contracts.metrics.metric import Metric

METRICS = {
    "poisson_deviance": Metric("minimize", ("count",), "mean Poisson deviance of the counts"),
}

"""Metrics of sets of classes alone."""

from trellis_contracts.metrics.metric import Metric
from trellis_contracts.tasks import MULTILABEL

METRICS = {
    "exact_match": Metric(
        "maximize",
        (MULTILABEL,),
        "share of examples whose classes are all decided rightly",
    ),
}

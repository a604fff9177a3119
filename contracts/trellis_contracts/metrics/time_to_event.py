"""Metrics of times to an event."""

from trellis_contracts.metrics.metric import Metric
from trellis_contracts.tasks import SURVIVAL

METRICS = {
    "concordance": Metric(
        "maximize",
        (SURVIVAL,),
        "Harrell's concordance index: share of the pairs of examples, of which it is known whose "
        "event came first, in which that one has the higher risk, ties counting half; chance is "
        "0.5",
    ),
    "uno_concordance": Metric(
        "maximize",
        (SURVIVAL,),
        "Uno's concordance index up to the last horizon: as `concordance`, each pair weighted by "
        "the inverse probability of censoring, so that it does not depend on the censoring",
    ),
    "integrated_brier": Metric(
        "minimize",
        (SURVIVAL,),
        "integrated Brier score: squared error of the predicted probability of survival, weighted "
        "by the inverse probability of censoring, averaged over time",
        # A server answers with the curve at the horizons alone.
        served=False,
    ),
    "horizon_brier": Metric(
        "minimize",
        (SURVIVAL,),
        "Brier score at each horizon, weighted as `integrated_brier` is, averaged over the "
        "horizons",
        part="horizon",
    ),
    "horizon_auc": Metric(
        "maximize",
        (SURVIVAL,),
        "cumulative/dynamic AUC at each horizon, of events until then against what survives it, "
        "averaged over the horizons; chance is 0.5",
        part="horizon",
    ),
    "horizon_calibration": Metric(
        "minimize",
        (SURVIVAL,),
        "calibration error at the horizons: gap between the mean predicted probability of survival "
        "and that of Kaplan and Meier, averaged over the horizons; only for the gate, as a model "
        "that always predicts the latter has none",
        gate_only=True,
        part="horizon",
    ),
}

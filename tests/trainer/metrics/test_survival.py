"""Metrics of times to an event: their intervals, groups, and what leaves them undefined."""

import numpy as np
import pytest

from trainer.comparison import scoreboard
from trainer.metrics import survival_estimates as estimates
from trainer.metrics.groups import Groups
from trainer.metrics.survival import SURVIVAL_METRICS, SurvivalOutcome, at_horizon

TIMES, HORIZONS = (0.2, 0.5, 1.0, 1.5), (0.5, 1.0)


def drawn(random, count, groups=None):
    """Exponential times whose rate rises with a risk, which is the group's; a third is censored."""
    risks = random.normal(size=count if groups is None else groups.count)
    risks = risks if groups is None else risks[groups.of]
    times, left = random.exponential(np.exp(-risks)), random.exponential(2.5, count)
    labels = np.stack([np.minimum(times, left), times <= left], axis=1).astype(float)
    # Sharper than the truth, as a model that has learned too much.
    curves = np.exp(-np.exp(1.3 * risks)[:, None] * np.array(TIMES))
    return SurvivalOutcome(labels, risks, curves, TIMES, HORIZONS, groups)


def measured(outcome):
    names = [m for m in SURVIVAL_METRICS.values() if m.name != "horizon_calibration"]
    return scoreboard.measured(outcome, names, lambda metric: 9)


def test_a_constant_answer_is_chance():
    outcome = drawn(np.random.default_rng(0), 200)
    known = estimates.survival(outcome.labels).at(np.array(TIMES))
    curves = np.broadcast_to(known, outcome.curves.shape)
    same = SurvivalOutcome(outcome.labels, np.zeros(200), curves, TIMES, HORIZONS)
    for name, metric in SURVIVAL_METRICS.items():
        if name == "horizon_calibration":
            assert metric.point(same) == pytest.approx(0)
        else:
            assert metric.point(same) == pytest.approx(metric.chance(outcome))


def test_what_is_not_known_leaves_the_curves_metrics_undefined():
    """Nobody is seen after the first of the times."""
    labels = np.array([[0.1, 1.0], [0.15, 0.0], [0.05, 1.0]])
    curves = np.tile([0.9, 0.8, 0.7, 0.6], (3, 1))
    outcome = SurvivalOutcome(labels, np.arange(3.0), curves, TIMES, HORIZONS)
    found = {name: metric.point(outcome) for name, metric in SURVIVAL_METRICS.items()}
    assert found["concordance"] == pytest.approx(2 / 3)
    for name in SURVIVAL_METRICS.keys() - {"concordance", "uno_concordance"}:
        assert np.isnan(found[name])


@pytest.mark.parametrize("name", ["horizon_auc", "horizon_brier", "horizon_calibration"])
def test_an_average_over_the_horizons_is_that_of_its_parts(name):
    outcome, whole = drawn(np.random.default_rng(3), 200), SURVIVAL_METRICS[name]
    parts = [at_horizon(whole, horizon) for horizon in HORIZONS]
    values = [part.point(outcome) for part in parts]
    assert np.ptp(values) > 0.001
    assert whole.point(outcome) == pytest.approx(np.mean(values))
    weights = np.random.default_rng(4).multinomial(200, np.full(200, 1 / 200), 5).T.astype(float)
    resampled = [part.resampled(outcome, weights) for part in parts]
    assert whole.resampled(outcome, weights) == pytest.approx(np.mean(resampled, axis=0))
    assert np.isnan(at_horizon(whole, 1.5).point(outcome)) == (outcome.labels[:, 0].max() <= 1.5)


def test_curves_between_two_times_have_a_constant_hazard():
    times, wanted = (1.0, 3.0), (0.5, 1.0, 2.0, 3.0, 9.0)
    curves = np.exp(-0.3 * np.array([times]))
    found = estimates.interpolated(curves, times, wanted)
    assert found[0] == pytest.approx(np.exp(-0.3 * np.array([0.5, 1, 2, 3, 3])))


def test_intervals_of_groups_are_wider_than_those_of_as_many_rows():
    groups = Groups.named(np.repeat(np.arange(40), 8))
    outcome = drawn(np.random.default_rng(1), 320, groups)
    alone = SurvivalOutcome(outcome.labels, outcome.risks, outcome.curves, TIMES, HORIZONS)
    wide, narrow = (
        {name: found.high - found.low for name, found in measured(one).items()}
        for one in (outcome, alone)
    )
    for name in ("concordance", "integrated_brier", "horizon_brier", "horizon_auc"):
        assert wide[name] > 1.2 * narrow[name]


@pytest.mark.slow
@pytest.mark.parametrize("per_group", [1, 4])
def test_intervals_cover_the_true_value(per_group):
    """Meant for 95 %: of 200 test splits of 60 groups of 1 or 4 rows."""
    random = np.random.default_rng(2)
    whole = drawn(random, 12_000)
    truth = {name: metric.point(whole) for name, metric in SURVIVAL_METRICS.items()}
    groups = Groups.named(np.repeat(np.arange(240 // per_group), per_group))
    names = ("concordance", "uno_concordance", "integrated_brier", "horizon_brier")
    covered = dict.fromkeys(names, 0)
    runs = 200
    for _ in range(runs):
        found = measured(drawn(random, 240, groups if per_group > 1 else None))
        for name in covered:
            covered[name] += found[name].low <= truth[name] <= found[name].high
    print(per_group, {name: count / runs for name, count in covered.items()})
    for name, count in covered.items():
        assert 0.9 <= count / runs <= 0.99, (name, count / runs)

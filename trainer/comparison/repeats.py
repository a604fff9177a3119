"""The selected training with other seeds: how much of its score is the seed's.

    RUN/training/RANK/seeds/SEED/       as RUN/training/RANK/, of the same training with this seed

Repeats do not compete, and no best one is chosen among them: their mean and standard deviation
describe the procedure that made the selected training, which has the experiment's own seed.
"""

import math
import statistics
from collections.abc import Mapping, Sequence

from trainer.comparison.held_out_split import HeldOutSplit, HeldOutSplitError
from trainer.comparison.run_folder import Run, read_training
from trainer.comparison.scoreboard import Scoreboard, decimals
from trainer.metrics.metric import Metric
from trellis_contracts import layout
from trellis_contracts.cross_validation import Spread
from trellis_contracts.leaderboard import FailedSeed, Repeats
from trellis_contracts.plan import PlanFile

_SEEDS = 2**31


def seeds_of(plan: PlanFile) -> list[int]:
    """All seeds that the experiment asks for, its own first."""
    configuration = plan.configuration
    first, count = configuration.get("seed", 0), configuration["train"].get("seeds", 1)
    return [(first + n) % _SEEDS for n in range(count)]


def read_repeats(
    run: Run, selected: str | None, split: HeldOutSplit, scores: Scoreboard
) -> Repeats | None:
    """Read the repeats of the selected training; None if the experiment asks for none, or there is
    none.
    """
    own, *others = seeds_of(run.plan)
    if not others or selected in (None, layout.ENSEMBLE):
        return None
    metrics = scores.metrics
    standing = next(one for one in scores.standings if one.name == selected)
    scored = {own: {name: estimate.value for name, estimate in standing.metrics.items()}}
    failed = []
    for seed in others:
        _, predicted, reason = read_training(run.files.repeat_of(selected, seed))
        if predicted is None:
            failed.append(FailedSeed(seed, reason or "it left no predictions"))
            continue
        try:
            outcome = split.outcome(predicted)
        except HeldOutSplitError as error:
            failed.append(FailedSeed(seed, str(error)))
            continue
        scored[seed] = {
            name: round(value, decimals(metric, outcome.labels))
            for name, metric in metrics.items()
            if not math.isnan(value := metric.point(outcome))
        }
    return Repeats(selected, tuple(scored), _spreads(scored, metrics, scores), tuple(failed))


def _spreads(
    scored: Mapping[int, Mapping[str, float]], metrics: Mapping[str, Metric], scores: Scoreboard
) -> dict[str, Spread]:
    found = {}
    for name, metric in metrics.items():
        values = [figures[name] for figures in scored.values() if name in figures]
        if len(values) == len(scored):
            found[name] = _spread(values, scores.decimals(metric))
    return found


def _spread(values: Sequence[float], places: int) -> Spread:
    """Rounded to the published decimals."""
    sd = round(statistics.stdev(values), places) if len(values) > 1 else None
    return Spread(round(statistics.fmean(values), places), sd, tuple(values))

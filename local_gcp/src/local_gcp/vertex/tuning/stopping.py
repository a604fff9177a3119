"""Decides when a running trial is stopped early, and when a study proposes no more trials.

Sources: the comments of `StudySpec.MedianAutomatedStoppingSpec` and `StudySpec.StudyStoppingConfig`
in Vertex AI's API.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

from local_gcp.vertex.tuning.trials import Measurement, State, Trial


@dataclasses.dataclass(frozen=True)
class MedianStopping:
    """The median automated stopping rule."""

    use_elapsed_duration: bool = False
    """Compare trials at the same age (seconds) instead of the same step."""

    def should_stop(self, trial: Trial, others: Sequence[Trial], *, maximize: bool) -> bool:
        """Return whether `trial`'s best value is strictly worse than the median of the completed
        trials.

        Each completed trial counts with the running average of the values that it had reported up
        to `trial`'s last measurement; trials that had reported nothing by then do not count.
        """
        if not trial.measurements:
            return False
        now = self._position(trial.measurements[-1])
        averages = [
            statistics.fmean(values)
            for other in others
            if other.state is State.SUCCEEDED
            and (values := [m.value for m in other.measurements if self._position(m) <= now])
        ]
        if not averages:
            return False
        sign = 1 if maximize else -1
        best = max(sign * m.value for m in trial.measurements)
        return best < statistics.median(sign * average for average in averages)

    def _position(self, measurement: Measurement) -> float:
        return measurement.elapsed if self.use_elapsed_duration else measurement.step


@dataclasses.dataclass(frozen=True)
class TimeConstraint:
    """Met if the study is older than `max_duration` (seconds) or the time is after `end`."""

    max_duration: float | None = None
    end: float | None = None

    def passed(self, created: float, now: float) -> bool:
        end = self.end if self.max_duration is None else created + self.max_duration
        return end is not None and now >= end


@dataclasses.dataclass(frozen=True)
class StudyStopping:
    """Conditions under which a study proposes no more trials before its maxTrialCount."""

    should_stop_asap: bool = False
    """Stop the running trials too, instead of letting them end."""
    minimum_runtime: TimeConstraint | None = None
    maximum_runtime: TimeConstraint | None = None
    min_trials: int | None = None
    max_trials: int | None = None
    max_trials_no_progress: int | None = None
    max_duration_no_progress: float | None = None

    def reason(
        self, trials: Sequence[Trial], *, created: float, now: float, maximize: bool
    ) -> str | None:
        """The name of the condition that ends the study now; None if it continues.

        Until the two minima are met, no other condition applies.
        """
        if self.minimum_runtime and not self.minimum_runtime.passed(created, now):
            return None
        completed = sorted(
            (t for t in trials if t.state is State.SUCCEEDED and t.final), key=lambda t: t.end or 0
        )
        if self.min_trials is not None and len(completed) < self.min_trials:
            return None
        if self.maximum_runtime and self.maximum_runtime.passed(created, now):
            return "maximum_runtime_constraint"
        if self.max_trials is not None and len(trials) >= self.max_trials:
            return "max_num_trials"
        if not completed:
            return None
        best = self._best(completed, maximize)
        since = len(completed) - 1 - best
        if self.max_trials_no_progress is not None and since >= self.max_trials_no_progress:
            return "max_num_trials_no_progress"
        idle = now - (completed[best].end or now)
        if self.max_duration_no_progress is not None and idle >= self.max_duration_no_progress:
            return "max_duration_no_progress"
        return None

    @staticmethod
    def _best(completed: Sequence[Trial], maximize: bool) -> int:
        """Index of the last trial that improved on all before it."""
        sign = 1 if maximize else -1
        values = [sign * t.final.value for t in completed if t.final]
        return values.index(max(values))

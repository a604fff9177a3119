"""What it costs that a training measures its speed: examples/s of steps, with and without.

One training in this process makes its calls of steps in turns by a graph that can read the time,
as trainer.task always has it, and by one that cannot. A round is six epochs; the median call of
each kind counts, so that a busy machine slows both alike. A training reads the time in one call
every few seconds; here one call in eight does, and its additional time counts for as many calls as
there are in those seconds. Each epoch's row of the speed counts, too.
"""

import statistics
import time
from collections import defaultdict
from contextlib import contextmanager
from itertools import count
from unittest import mock

from benchmarks.measuring import ROUNDS
from benchmarks.speed.fitting import BATCH, given, rows
from trainer.estimators import run
from trainer.training import speed
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trainer.training.synchronous import STEPS_PER_CALL, Synchronous

# 16,384 examples, so that all calls have the same number of steps, 16 of each kind in an epoch.
ROWS, EPOCHS_PER_ROUND = 20_480, 6
CALLS_PER_EPOCH = 8 * ROWS // 10 // BATCH // STEPS_PER_CALL
MEASURED, READING, PLAIN, ROW = "measured", "reading", "plain", "row"


class EachEighth:
    """Chooses the calls that read the time: as speed.Samples, by their number."""

    def __init__(self):
        self._numbers = count(1)
        self.last = False

    def due(self):
        self.last = next(self._numbers) % 8 == 0
        return self.last


class InTurns(Synchronous):
    """The steps of a training, every other call by a graph that cannot read the time."""

    def begin(self, phase):
        super().begin(phase)
        with mock.patch.object(speed, "readable", return_value=False):
            measured = self._steps
            super().begin(phase)
        self._graphs, self._numbers = (self._steps, measured), count()
        self._samples = EachEighth()

    def make(self, done, count, stop):
        number = next(self._numbers)
        measured = number % 2
        self._steps = self._graphs[measured]
        if not measured:
            with mock.patch.object(self._samples, "due", return_value=False):
                return self._timed(PLAIN, done, count, stop)
        return self._timed(MEASURED, done, count, stop)

    def _timed(self, kind, done, count, stop):
        begun = time.perf_counter()
        found = super().make(done, count, stop)
        spent = time.perf_counter() - begun
        if kind == MEASURED and self._samples.last:
            kind = READING
        epoch = done // (CALLS_PER_EPOCH * STEPS_PER_CALL)
        SECONDS[epoch // EPOCHS_PER_ROUND, kind].append(spent)
        return found


class TimedMeter(speed.Meter):
    """A meter that notes the seconds of its own rows."""

    def end_epoch(self, epoch, *figures):
        begun = time.perf_counter()
        row = super().end_epoch(epoch, *figures)
        SECONDS[(epoch - 1) // EPOCHS_PER_ROUND, ROW].append(time.perf_counter() - begun)
        return row


SECONDS = defaultdict(list)
"""Of calls and rows, by round and kind."""


def rates(number):
    """Examples a second of a round, measured and not."""
    plain, measured, reading, row = (
        statistics.median(SECONDS[number, kind]) for kind in (PLAIN, MEASURED, READING, ROW)
    )
    calls = speed._CALL_SECONDS / measured
    measured += (reading - measured) / calls + row / CALLS_PER_EPOCH
    return {"ours": STEPS_PER_CALL * BATCH / measured, "peer": STEPS_PER_CALL * BATCH / plain}


@contextmanager
def steps(scratch):
    epochs = (ROUNDS + 1) * EPOCHS_PER_ROUND
    own = given(rows(scratch, ROWS), "residual", epochs=epochs)
    settings = parse_flags([*own, f"--output={scratch / 'o'}"], "")
    with (
        mock.patch("trainer.estimators.keras.Synchronous", InTurns),
        mock.patch("trainer.estimators.keras.Meter", TimedMeter),
    ):
        if run.train(settings, checked_dataset(settings)):
            raise SystemExit("the training was stopped")
    found = {name: iter([rates(n)[name] for n in range(ROUNDS + 1)]) for name in ("ours", "peer")}
    yield {name: lambda values=values: next(values) for name, values in found.items()}

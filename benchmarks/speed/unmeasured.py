"""trainer.task without what measures a training's speed: the peer of one with it.

    python -m benchmarks.speed.unmeasured FLAGS

No step reads the time, no thread asks for the GPUs' use, and epochs end without figures of CPU,
memory and bytes read: those of metrics.json's `speed` are 0.
"""

import contextlib
import sys

from trainer import task
from trainer.training import speed


class Unmeasured(speed.Meter):
    """Measures nothing."""

    def __init__(self):
        pass

    def saving(self):
        return contextlib.nullcontext()

    def end_epoch(self, epoch, examples, *_):
        return speed.Speed(
            epoch=epoch, seconds=0, examples=0, evaluation=0, checkpoints=0, cpu=0, memory=0
        )

    def close(self):
        pass


if __name__ == "__main__":
    speed.readable = lambda distribution: False
    speed.Meter = Unmeasured
    sys.exit(task.main())

"""Progress of one shard's images."""

import time

_PROGRESS_SECONDS = 10


class Progress:
    """Prints a line every ten seconds while a shard's images are read.

    position: of the shard, "3 of 6". total: number of its images.
    """

    def __init__(self, position: str, total: int):
        self._position, self._total = position, total
        self._done = 0
        self._start = self._last = time.monotonic()

    def step(self) -> None:
        """Count an image that has been read."""
        self._done += 1
        now = time.monotonic()
        if now - self._last >= _PROGRESS_SECONDS:
            self._last = now
            print(
                f"shard {self._position}: {self._done} of {self._total} images, "
                f"{self._done / max(now - self._start, 1e-9):.0f} images/s",
                flush=True,
            )

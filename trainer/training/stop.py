"""SIGTERM as a request to stop: a spot machine has 30 seconds, enough to save a checkpoint."""

import signal


class StoppedError(Exception):
    """Training ended early because this process, or a peer, was asked to; a checkpoint is saved."""


class StopRequest:
    """A context in which SIGTERM sets a flag, which the loop reads between its calls."""

    def __init__(self):
        self.noted = False

    def __enter__(self):
        signal.signal(signal.SIGTERM, self._note)
        return self

    def __exit__(self, *_):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _note(self, *_):
        self.noted = True

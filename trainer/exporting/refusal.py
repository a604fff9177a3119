"""Keeps what a refusal quotes of rows in the bucket: logs of jobs are read by more people."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from trainer import storage
from trainer.exporting import ExportError
from trainer.exporting.objects import Objects
from trainer.exporting.settings import ExportSettings
from trellis_contracts.withheld import for_log

EXAMPLES = "examples/export.txt"
"""The whole refusal, in the dataset's folder."""


@contextmanager
def without_rows(settings: ExportSettings, objects: Objects) -> Iterator[None]:
    """Raise an ExportError that quotes rows without them; OUTPUT/examples/export.txt has all."""

    def write(content: bytes) -> str:
        address = storage.join(settings.output, EXAMPLES)
        objects.write(address, content)
        return address

    try:
        yield
    except ExportError as error:
        texts = for_log([error.text], write)
        if texts == [error.text]:
            raise
        # A worker's log has the traceback of what an error was raised from.
        raise ExportError("\n".join(texts)) from None


class Step(Protocol):
    """A step of an export, on a worker or on this machine."""

    _settings: Any
    _objects: Objects


S = TypeVar("S", bound=Step)
P = ParamSpec("P")
R = TypeVar("R")


def step(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Mark a method of a Step whose refusals have no rows."""

    @functools.wraps(method)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with without_rows(self._settings, self._objects):
            return method(self, *args, **kwargs)

    return run

"""Processes of this machine that share the steps of one export."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from trainer.exporting import ExportError


class _Closable(Protocol):
    def close(self) -> None: ...


StepsT = TypeVar("StepsT", bound=_Closable)
Item = TypeVar("Item")
Result = TypeVar("Result")
Shared = ParamSpec("Shared")

# In a worker's process: its own steps.
_steps: Any = None


class Workers(Generic[StepsT]):
    """Runs steps in processes, or, with one process, in this one.

    make_steps: a picklable function that makes the steps of each process. own: this process's.
    """

    def __init__(self, make_steps: Callable[[], StepsT], own: StepsT, processes: int):
        self._own = own
        self._executor = None
        if processes > 1:
            # Not fork: this process has threads. The server has imported what the steps need.
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload([make_steps.func.__module__])  # type: ignore[attr-defined]
            self._executor = ProcessPoolExecutor(
                processes, mp_context=context, initializer=_start, initargs=(make_steps,)
            )

    def __enter__(self) -> "Workers[StepsT]":
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            # After an error, what has not begun never begins.
            self._executor.shutdown(cancel_futures=True)
        self._own.close()

    def map(
        self,
        step: Callable[Concatenate[StepsT, Item, Shared], Result],
        items: Iterable[Item],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Iterator[Result]:
        """step(steps, item, ...) for each item, in order; raises what a step raises."""
        if self._executor is None:
            return (step(self._own, item, *shared, **named) for item in items)
        return self._results(partial(_call, step, shared, named), items)

    def _results(self, call: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        assert self._executor is not None
        try:
            yield from self._executor.map(call, items)
        except BrokenProcessPool as error:
            raise ExportError(
                "a process of the export was killed, perhaps for want of memory; export again on "
                "a machine with more, or on Dataflow"
            ) from error


def _start(make_steps: Callable[[], Any]) -> None:
    global _steps
    # Ctrl-C reaches every process of the terminal; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _steps = make_steps()


def _end_with_parent() -> None:
    """A pool's process waits for work for ever, also after SIGKILL of the one that gives it."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


def _call(step: Callable, shared: tuple, named: dict, item: Any) -> Any:
    return step(_steps, item, *shared, **named)

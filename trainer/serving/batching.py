"""Dynamic batching: items that arrive while the model runs form its next batch.

There is no batching window: a single request starts at once, and batches grow with the load up to
their limit. One batch runs at a time; TensorFlow uses all cores for it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from trainer.serving.errors import OverloadedError

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Bound:
    """Upper bounds of a number of items and of their total weight."""

    items: int
    weight: int


class _Submission(Generic[Result]):
    """One caller's items; it waits for their results, which come in their order."""

    def __init__(self, count: int, answer: "asyncio.Future[list[Result | Exception]]"):
        self.answer = answer
        self._count = count
        self._results: list[Result | Exception] = []

    def add(self, result: Result | Exception) -> None:
        """The next item's result; the last one ends the waiting."""
        self._results.append(result)
        # Done already: its caller has cancelled it.
        if len(self._results) == self._count and not self.answer.done():
            self.answer.set_result(self._results)


class Batcher(Generic[Item, Result]):
    """Joins the items of concurrent callers into batches, in order of arrival.

    run: computes a batch, in a thread; returns for each item its result or its exception. An
    exception that run raises becomes the result of every item of the batch. batch: bound of one
    batch (a single item may weigh more); waiting: bound of the items accepted and not yet started.
    """

    def __init__(
        self,
        run: Callable[[list[Item]], Sequence[Result | Exception]],
        weigh: Callable[[Item], int],
        batch: Bound,
        waiting: Bound,
    ):
        self._run = run
        self._weigh = weigh
        self._batch = batch
        self._bound = waiting
        self._waiting: deque[tuple[Item, _Submission[Result]]] = deque()
        self._weight = 0
        self._busy = False
        self._thread = ThreadPoolExecutor(1, "batch")

    async def submit(self, items: Sequence[Item]) -> list[Result | Exception]:
        """Each item's result, in order; an exception is returned, not raised.

        Raises OverloadedError if the queue has no room for all of them; none is accepted then.
        """
        weight = sum(map(self._weigh, items))
        if len(self._waiting) + len(items) > self._bound.items or (
            self._weight + weight > self._bound.weight
        ):
            raise OverloadedError(f"{len(self._waiting)} instances are already waiting")
        if not items:
            return []
        loop = asyncio.get_running_loop()
        submission: _Submission[Result] = _Submission(len(items), loop.create_future())
        self._waiting.extend((item, submission) for item in items)
        self._weight += weight
        if not self._busy:
            self._start(loop)
        return await submission.answer

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give the next batch to the thread, if any item waits."""
        self._busy = bool(self._waiting)
        if self._busy:
            # Not run_in_executor: its two futures and a task that awaits them take as long again.
            self._thread.submit(self._compute, self._take(), loop)

    def _compute(
        self, batch: list[tuple[Item, _Submission[Result]]], loop: asyncio.AbstractEventLoop
    ) -> None:
        """Run a batch, in the thread."""
        items, submissions = zip(*batch, strict=True)
        try:
            results = self._run(list(items))
            outcomes = list(zip(submissions, results, strict=True))
        except Exception as error:
            outcomes = [(submission, error) for submission in submissions]
        loop.call_soon_threadsafe(self._finish, outcomes, loop)

    def _finish(
        self,
        outcomes: list[tuple[_Submission[Result], Result | Exception]],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._start(loop)
        for submission, outcome in outcomes:
            submission.add(outcome)

    def _take(self) -> list[tuple[Item, _Submission[Result]]]:
        """Remove the next batch from the queue."""
        batch: list[tuple[Item, _Submission[Result]]] = []
        total = 0
        while self._waiting and len(batch) < self._batch.items:
            weight = self._weigh(self._waiting[0][0])
            if batch and total + weight > self._batch.weight:
                break
            batch.append(self._waiting.popleft())
            total += weight
        self._weight -= total
        return batch

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
        self._waiting: deque[tuple[Item, asyncio.Future]] = deque()
        self._weight = 0
        self._worker: asyncio.Task | None = None
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
        loop = asyncio.get_running_loop()
        futures = [loop.create_future() for _ in items]
        self._waiting.extend(zip(items, futures, strict=True))
        self._weight += weight
        if self._worker is None:
            self._worker = loop.create_task(self._work(loop))
        return await asyncio.gather(*futures)

    async def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            items, futures = zip(*self._take(), strict=True)
            try:
                results = await loop.run_in_executor(self._thread, self._run, list(items))
                outcomes = list(zip(futures, results, strict=True))
            except Exception as error:
                outcomes = [(future, error) for future in futures]
            for future, outcome in outcomes:
                if not future.done():  # its caller has cancelled it
                    future.set_result(outcome)
        self._worker = None

    def _take(self) -> list[tuple[Item, asyncio.Future]]:
        """Remove the next batch from the queue."""
        batch: list[tuple[Item, asyncio.Future]] = []
        total = 0
        while self._waiting and len(batch) < self._batch.items:
            weight = self._weigh(self._waiting[0][0])
            if batch and total + weight > self._batch.weight:
                break
            batch.append(self._waiting.popleft())
            total += weight
        self._weight -= total
        return batch

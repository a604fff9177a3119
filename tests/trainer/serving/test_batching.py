import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.serving.batching import Batcher, Bound
from trainer.serving.errors import OverloadedError

WIDE = Bound(1000, 1000)


class Worker:
    """Doubles numbers, remembers its batches, and works only while the gate is open."""

    def __init__(self):
        self.batches = []
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, items):
        self.batches.append(items)
        assert self.gate.wait(10)
        if "poison" in items:
            raise MemoryError
        return [ValueError(item) if item < 0 else 2 * item for item in items]


def batcher(worker, batch=WIDE, waiting=WIDE):
    return Batcher(worker, weigh=lambda _: 1, batch=batch, waiting=waiting)


async def behind_a_closed_gate(worker, batching, requests):
    """Submit requests while a first one (0) keeps the worker busy; then let it work."""
    worker.gate.clear()
    tasks = [asyncio.create_task(batching.submit([0]))]
    await asyncio.sleep(0.02)
    tasks += [asyncio.create_task(batching.submit(request)) for request in requests]
    await asyncio.sleep(0.02)
    worker.gate.set()
    return (await asyncio.gather(*tasks, return_exceptions=True))[1:]


def test_a_lone_request_starts_at_once():
    worker = Worker()
    assert asyncio.run(batcher(worker).submit([1, 2])) == [2, 4]
    assert worker.batches == [[1, 2]]


def test_what_arrives_while_the_model_works_is_the_next_batch():
    worker = Worker()
    answers = asyncio.run(behind_a_closed_gate(worker, batcher(worker), [[1], [2, 3], [4]]))
    assert answers == [[2], [4, 6], [8]]
    assert worker.batches == [[0], [1, 2, 3, 4]]


def test_a_request_may_be_spread_over_batches():
    worker = Worker()
    batching = batcher(worker, batch=Bound(2, 1000))
    answers = asyncio.run(behind_a_closed_gate(worker, batching, [[1], [2, 3, 4]]))
    assert answers == [[2], [4, 6, 8]]
    assert worker.batches == [[0], [1, 2], [3, 4]]


def test_weight_closes_a_batch_too_and_a_single_heavy_item_still_runs():
    worker = Worker()
    batching = Batcher(worker, weigh=lambda item: item, batch=Bound(10, 5), waiting=WIDE)
    asyncio.run(behind_a_closed_gate(worker, batching, [[3, 2, 1, 9, 4]]))
    assert worker.batches == [[0], [3, 2], [1], [9], [4]]


@pytest.mark.parametrize("waiting", [Bound(3, 1000), Bound(1000, 3)])
def test_what_cannot_wait_is_refused_as_a_whole(waiting):
    worker = Worker()
    batching = batcher(worker, waiting=waiting)
    answers = asyncio.run(behind_a_closed_gate(worker, batching, [[1, 2], [3, 4], [5]]))
    assert isinstance(answers[1], OverloadedError)
    assert [answers[0], answers[2]] == [[2, 4], [10]]
    assert worker.batches == [[0], [1, 2, 5]]


def test_room_is_given_back():
    worker = Worker()
    batching = batcher(worker, waiting=Bound(2, 2))

    async def one_after_the_other():
        return [await batching.submit([i, i]) for i in range(5)]

    assert asyncio.run(one_after_the_other())[-1] == [8, 8]


def test_a_bad_item_is_its_callers_alone():
    worker = Worker()
    (good, bad) = asyncio.run(behind_a_closed_gate(worker, batcher(worker), [[1, 2], [3, -1]]))
    assert good == [2, 4]
    assert bad[0] == 6
    assert isinstance(bad[1], ValueError)


def test_after_a_batch_that_failed_as_a_whole_the_next_one_runs():
    worker = Worker()
    batching = batcher(worker, batch=Bound(1, 1000))
    failed, good = asyncio.run(behind_a_closed_gate(worker, batching, [["poison"], [1]]))
    assert isinstance(failed[0], MemoryError)
    assert good == [2]


def test_a_caller_that_gives_up_takes_nothing_from_the_others():
    worker = Worker()
    batching = batcher(worker)

    async def main():
        worker.gate.clear()
        tasks = [asyncio.create_task(batching.submit([i])) for i in range(4)]
        await asyncio.sleep(0.02)
        tasks[2].cancel()
        worker.gate.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(main())
    assert isinstance(answers.pop(2), asyncio.CancelledError)
    assert answers == [[0], [2], [6]]


@given(
    requests=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=7), max_size=12),
    items=st.integers(1, 8),
    weight=st.integers(1, 20),
)
def test_every_request_gets_its_own_answers_and_no_batch_is_over_its_bound(requests, items, weight):
    worker = Worker()
    batching = Batcher(worker, lambda item: item, Bound(items, weight), WIDE)

    async def all_at_once():
        return await asyncio.gather(*map(batching.submit, requests))

    answers = asyncio.run(all_at_once())
    assert answers == [[2 * item for item in request] for request in requests]
    for batch in worker.batches:
        assert len(batch) <= items
        assert len(batch) == 1 or sum(batch) <= weight

"""The chain of tasks that decided when a run ended."""

from benchmarks.tasks import Task, chain, table
from tests.wording import says


def test_the_chain_goes_back_from_the_end_by_the_task_that_ended_last():
    tasks = [
        Task("plan", 1, 5),
        Task("baseline", 6, 60),
        Task("tune", 6, 70),
        Task("train", 72, 100),
        Task("beside", 72, 90),
        Task("result", 101, 110),
    ]
    assert [(task.name, wait) for task, wait in chain(tasks)] == (
        [("plan", 1), ("tune", 1), ("train", 2), ("result", 1)]
    )
    head, *_ = table("digits", 112, tasks)
    assert says(head, "digits: 112 s", "tasks 105", "between them 5", "after the last 2")


def test_a_run_without_a_task_has_no_chain():
    assert chain([]) == []
    assert table("digits", 3, [])[0].endswith("after the last 3")

"""Where the time of the runs of `make demo` went, task by task: of each run the chain of tasks that
decided its end.

    .venv/airflow/bin/python -m benchmarks.tasks [--database .local/airflow/airflow.db] [DAG ...]

Going back from the end of a run, the task before is the one that ended last before the next one
began. `waited` is the time between both: Airflow's scheduler, and the start of the task's process.
Beside the chain, other tasks ran; they would have to take longer to matter.
"""

import argparse
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple


class Task(NamedTuple):
    """A task that ran. start, end: seconds since the run began."""

    name: str
    start: float
    end: float


def chain(tasks: Sequence[Task]) -> list[tuple[Task, float]]:
    """The tasks that decided when the last one ended, each with the seconds that it waited for its
    turn after the one before, first to last.
    """
    found: list[tuple[Task, float]] = []
    left = sorted(tasks, key=lambda task: task.end)
    while left:
        task = left.pop()
        left = [other for other in left if other.end <= task.start]
        found.insert(0, (task, task.start - (left[-1].end if left else 0.0)))
    return found


def table(name: str, seconds: float, tasks: Sequence[Task]) -> list[str]:
    """The lines of a run. seconds: from its begin to its end."""
    rows = chain(tasks)
    waited = sum(wait for _, wait in rows)
    last = rows[-1][0].end if rows else 0.0
    return [
        f"{name}: {seconds:.0f} s, of which tasks {last - waited:.0f}, between them {waited:.0f}, "
        f"after the last {seconds - last:.0f}",
        "",
        "| task | began at s | waited s | took s |",
        "|---|---|---|---|",
        *(
            f"| {task.name} | {task.start:.0f} | {wait:.1f} | {task.end - task.start:.1f} |"
            for task, wait in rows
        ),
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", type=Path, default=Path(".local/airflow/airflow.db"))
    parser.add_argument("dags", nargs="*", metavar="DAG", help="default: all")
    options = parser.parse_args()
    if not options.database.exists():
        parser.error(f"there is no {options.database}: run `make demo` first, or say --database")
    with sqlite3.connect(f"file:{options.database}?mode=ro", uri=True) as database:
        runs = database.execute(
            "SELECT dag_id, run_id, start_date, end_date FROM dag_run "
            "WHERE end_date IS NOT NULL ORDER BY start_date"
        ).fetchall()
        for dag, run, start, end in runs:
            if options.dags and dag not in options.dags:
                continue
            begun = datetime.fromisoformat(start)

            def since(moment: str, begun: datetime = begun) -> float:
                return (datetime.fromisoformat(moment) - begun).total_seconds()

            rows = database.execute(
                "SELECT task_id, start_date, end_date FROM task_instance "
                "WHERE dag_id = ? AND run_id = ? AND state != 'skipped' AND end_date IS NOT NULL "
                "AND duration > 0.05",  # what does nothing has no process of its own
                (dag, run),
            ).fetchall()
            tasks = [Task(name, since(first), since(last)) for name, first, last in rows]
            print("\n".join(table(f"{dag}, {run}", since(end), tasks)))


if __name__ == "__main__":
    main()

"""A LocalExecutor that lets its scheduler rest while there is nothing to do.

Airflow's scheduler looks for work in every round, in dozens of queries, and sleeps after one that
found none. Four rounds a second keep a third of a core busy, and fewer would let each task of a
chain wait. Each round calls its executor: this one returns once there is something to look at. The
scheduler's own sleep is 0 then (demo/airflow_environment.py).
"""

import sqlite3
import time

from airflow.configuration import conf
from airflow.executors import local_executor

AT_MOST_SECONDS = 2.0
"""The pause of a scheduler with nothing to do: what the clock begins may be this late."""
POLL_SECONDS = 0.05

_STATES = """
    SELECT 'run', state, count(*) FROM dag_run GROUP BY state
    UNION ALL SELECT 'task', state, count(*) FROM task_instance GROUP BY state
"""
_SQLITE = "sqlite:///"


class LocalExecutor(local_executor.LocalExecutor):
    """Waits until a task or a run has another state than in the round before, or a worker is done
    with its task.

    By any other name Airflow's api-server takes it for one that works on other machines, and warns.
    """

    # The connection is made by the scheduler, after its workers were forked.
    _database: sqlite3.Connection | None = None
    _seen: list[tuple] | None = None

    def sync(self) -> None:
        """Called in every round of the scheduler, after it has scheduled what it found."""
        deadline = time.monotonic() + AT_MOST_SECONDS
        while (
            (states := self._states()) == self._seen
            and self.result_queue.empty()
            and time.monotonic() < deadline
        ):
            time.sleep(POLL_SECONDS)
        # What the round itself has changed differs, too: a change of others is never overlooked.
        self._seen = states
        super().sync()

    def _states(self) -> list[tuple]:
        if self._database is None:
            path = conf.get("database", "sql_alchemy_conn").removeprefix(_SQLITE)
            self._database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return self._database.execute(_STATES).fetchall()
        except sqlite3.OperationalError:  # locked, and so about to change
            return []

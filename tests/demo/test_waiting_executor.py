"""The scheduler of a local run looks for work when there is some."""

import sqlite3
import threading
import time

import pytest

from demo.airflow_config import waiting_executor


@pytest.fixture
def database(tmp_path, monkeypatch):
    path = tmp_path / "airflow.db"
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", f"sqlite:///{path}")
    with sqlite3.connect(path, isolation_level=None, check_same_thread=False) as connection:
        connection.execute("CREATE TABLE dag_run (state TEXT)")
        connection.execute("CREATE TABLE task_instance (state TEXT)")
        connection.execute("INSERT INTO dag_run VALUES ('running')")
        yield connection
    connection.close()


@pytest.fixture
def executor(database):
    """It has seen all that there is, and has no workers."""
    executor = waiting_executor.LocalExecutor(parallelism=1)
    executor._spawn_worker = lambda: None
    executor.start()
    executor.sync()
    return executor


def seconds(executor):
    began = time.monotonic()
    executor.sync()
    return time.monotonic() - began


def test_without_news_it_waits_two_seconds(executor):
    assert waiting_executor.AT_MOST_SECONDS <= seconds(executor) < 4


@pytest.mark.parametrize("table", ["task_instance", "dag_run"])
def test_it_returns_when_another_process_changes_a_state(executor, database, monkeypatch, table):
    monkeypatch.setattr(waiting_executor, "AT_MOST_SECONDS", 60)
    change = f"INSERT INTO {table} VALUES ('queued')"
    threading.Timer(0.3, database.execute, [change]).start()
    assert seconds(executor) >= 0.3
    # What changes between two rounds is seen by the next.
    database.execute(f"UPDATE {table} SET state = 'success'")
    assert seconds(executor) < 5


def test_it_returns_when_a_worker_is_done_with_its_task(executor, monkeypatch):
    monkeypatch.setattr(waiting_executor, "AT_MOST_SECONDS", 60)
    monkeypatch.setattr(executor, "change_state", lambda key, state: None)
    executor.result_queue.put(("key", "success", None))
    assert seconds(executor) < 5


def test_a_database_that_cannot_be_read_is_waited_for(executor, database):
    database.execute("DROP TABLE dag_run")
    executor.sync()
    assert seconds(executor) >= waiting_executor.AT_MOST_SECONDS

"""The state file: order, transactions, threads, kill -9."""

import signal
import subprocess
import sys
import threading

import pytest
from google.cloud.aiplatform_v1 import CustomJob
from google.longrunning.operations_pb2 import Operation

from local_gcp.state import State


@pytest.fixture
def state(tmp_path):
    return State(tmp_path / "state.db")


def test_records_of_all_kinds_are_found_again_by_a_new_process(state, tmp_path):
    state.table("jobs", CustomJob).put("a", CustomJob(display_name="x", labels={"k": "v"}))
    state.table("operations", Operation).put("a", Operation(name="o", done=True))
    state.table("runs", dict).put("a", {"pools": [1, None]})
    state.close()
    again = State(tmp_path / "state.db")
    assert again.table("jobs", CustomJob).get("a").labels == {"k": "v"}
    assert again.table("operations", Operation).get("a").done
    assert again.table("runs", dict).get("a") == {"pools": [1, None]}


def test_order_is_that_of_creation_and_replacing_does_not_change_it(state):
    table = state.table("t", dict)
    for name in "cab":
        table.put(name, {})
    table.put("c", {"new": True})
    assert [name for name, _ in table.list()] == ["c", "a", "b"]
    assert [name for name, _ in table.list(newest_first=True)] == ["b", "a", "c"]
    assert table.get("c") == {"new": True}


def test_prefixes_are_no_patterns(state):
    table = state.table("t", dict)
    for name in ("a_/1", "ab/1", "a%/1"):
        table.put(name, {})
    assert [name for name, _ in table.list("a_/")] == ["a_/1"]


def test_delete(state):
    table = state.table("t", dict)
    table.put("a", {})
    assert (table.delete("a"), table.delete("a"), table.get("a")) == (True, False, None)


def test_a_failed_transaction_leaves_nothing_even_of_inner_ones(state):
    table = state.table("t", dict)

    def fail():
        with state.transaction():
            with state.transaction():
                table.put("inner", {})
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        fail()
    table.put("after", {})
    assert [name for name, _ in table.list()] == ["after"]


def test_transactions_of_threads_follow_one_another(state):
    table = state.table("t", dict)
    table.put("count", {"value": 0})

    def add():
        for _ in range(50):
            with state.transaction():
                value = table.get("count")["value"]
                table.put("count", {"value": value + 1})

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table.get("count") == {"value": 200}


def test_what_was_acknowledged_outlives_kill_9(tmp_path):
    writer = (
        "import itertools, sys; from local_gcp.state import State\n"
        "state = State(sys.argv[1]); table = state.table('t', dict)\n"
        "for n in itertools.count():\n"
        "    with state.transaction():\n"
        "        table.put(f'a{n}', {}); table.put(f'b{n}', {})\n"
        "    print(n, flush=True)\n"
    )
    path = str(tmp_path / "state.db")
    with subprocess.Popen([sys.executable, "-c", writer, path], stdout=subprocess.PIPE) as process:
        for _ in range(100):
            acknowledged = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    names = {name for name, _ in State(path).table("t", dict).list()}
    assert {f"{kind}{n}" for n in range(acknowledged + 1) for kind in "ab"} <= names
    # A transaction is there in full or not at all.
    first, second = ({name[1:] for name in names if name[0] == kind} for kind in "ab")
    assert first == second


def test_a_lagging_list_shows_what_was(tmp_path, monkeypatch):
    now = 100.0
    monkeypatch.setattr("local_gcp.state.time.monotonic", lambda: now)
    table = State(tmp_path / "lagging.db", lag=5).table("t", dict)
    table.put("a/1", {"n": 1})
    table.put("b/1", {})
    now = 106.0
    table.put("a/1", {"n": 2})
    now = 107.0
    table.put("a/1", {"n": 3})
    table.put("a/2", {})
    table.delete("b/1")
    assert table.list_lagging("a/") == [("a/1", {"n": 1})]
    assert table.list_lagging() == [("a/1", {"n": 1}), ("b/1", {})]
    assert table.list("a/") == [("a/1", {"n": 3}), ("a/2", {})]
    now = 111.5
    assert table.list_lagging("a/") == [("a/1", {"n": 2})]
    now = 113.0
    assert table.list_lagging() == table.list()

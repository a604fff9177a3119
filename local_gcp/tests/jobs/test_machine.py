"""Admission of runs to a machine of so many cores."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_gcp.jobs.machine import Machine, admit, available_cores, free_addresses

runs = st.lists(st.integers(1, 9)).map(lambda cores: [(f"r{i}", n) for i, n in enumerate(cores)])


def test_runs_start_while_they_fit():
    assert admit([("a", 1), ("b", 2), ("c", 1)], used=1, total=4) == ["a", "b"]


def test_a_small_run_does_not_pass_a_large_one():
    assert admit([("large", 4), ("small", 1)], used=1, total=4) == []


def test_a_run_larger_than_the_machine_runs_alone():
    assert admit([("giant", 9), ("small", 1)], used=0, total=4) == ["giant"]
    assert admit([("giant", 9)], used=1, total=4) == []


@given(runs, st.integers(0, 8), st.integers(1, 8))
def test_order_is_kept_and_cores_are_not_given_twice(waiting, used, total):
    admitted = admit(waiting, used, total)
    assert admitted == [name for name, _ in waiting][: len(admitted)]
    taken = sum(dict(waiting)[name] for name in admitted)
    assert used + taken <= total or (used == 0 and len(admitted) == 1) or not admitted


@given(runs, st.integers(1, 8))
def test_an_idle_machine_always_starts_the_first(waiting, total):
    assert admit(waiting, 0, total)[:1] == [name for name, _ in waiting][:1]


def test_a_replica_is_told_of_its_share_of_the_cores():
    threads = Machine(cores=available_cores()).thread_environment()
    assert threads["OMP_NUM_THREADS"] == threads["TF_NUM_INTRAOP_THREADS"] == "1"
    assert threads["TF_NUM_INTEROP_THREADS"] == "2"
    alone = Machine(cores=1).thread_environment()
    assert alone["OMP_NUM_THREADS"] == str(available_cores())


def test_the_machine_is_as_up_was_told():
    assert Machine.from_environment({}) == Machine(available_cores(), 0, 0)
    options = {"CORES": "3", "PREEMPTION_RATE": "0.5", "PREEMPTION_SEED": "7"}
    environment = {f"LOCAL_GCP_{name}": value for name, value in options.items()}
    assert Machine.from_environment(environment) == Machine(3, 0.5, 7)


@pytest.mark.parametrize(("name", "value"), [("CORES", "-1"), ("PREEMPTION_RATE", "601")])
def test_bad_options_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"LOCAL_GCP_{name}"):
        Machine.from_environment({f"LOCAL_GCP_{name}": value})


def test_addresses_are_distinct_and_a_server_can_have_them():
    first = free_addresses(20, taken=[])
    second = free_addresses(20, taken=first)
    assert len({*first, *second}) == 40
    for address in second:
        host, port = address.split(":")
        with socket.socket() as server:
            server.bind((host, int(port)))


@pytest.mark.parametrize("ended", [False, True])
def test_a_port_is_not_free_while_its_server_listens_or_has_just_ended(monkeypatch, ended):
    """The end of a server leaves its connections in TIME_WAIT: nobody listens, nobody can bind."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if ended:
            with socket.create_connection(server.getsockname()) as client:
                server.accept()[0].close()
                client.recv(1)
            server.close()
        (free,) = free_addresses(1, taken=[])
        only = [port, int(free.split(":")[1])]
        monkeypatch.setattr("local_gcp.jobs.machine.random.sample", lambda *_, **__: only)
        assert free_addresses(2, taken=[]) == [free]

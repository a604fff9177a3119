"""All processes of a cluster find one another, whoever comes first, whoever comes twice."""

import contextlib
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from testbed.trainings import free_ports
from trainer.training import TrainingError
from trainer.training.cluster import ALONE, Cluster
from trainer.training.rendezvous import await_servers, meet, until_gone


@pytest.fixture
def addresses():
    chief, *workers = (f"127.0.0.1:{port}" for port in free_ports(3))
    return {"chief:0": chief, "worker:0": workers[0], "worker:1": workers[1]}


def meet_all(addresses, order, pause=0.0):
    """Start a thread for each name of `order`; what each of them was told."""
    with ThreadPoolExecutor() as pool:
        found = {}
        for name in order:
            found[name] = pool.submit(meet, Cluster(addresses, name), f"from {name}", 20.0)
            time.sleep(pause)
        return {name: future.result() for name, future in found.items()}


def test_alone_there_is_nobody_to_wait_for():
    assert meet(ALONE, "step-1") == "step-1"


@pytest.mark.parametrize("first", ["chief:0", "worker:0"])
def test_all_get_the_chiefs_message_in_any_order(addresses, first):
    order = sorted(addresses, key=lambda name: name != first)
    assert meet_all(addresses, order, pause=0.3) == dict.fromkeys(addresses, "from chief:0")


def test_a_worker_that_dies_while_waiting_is_waited_for_again(addresses):
    """It had reported already; without it, the others must not go."""
    with ThreadPoolExecutor() as pool:
        chief = pool.submit(meet, Cluster(addresses, "chief:0"), "go", 20.0)
        report(addresses["chief:0"], b"trellis worker:0\n").close()
        other = pool.submit(meet, Cluster(addresses, "worker:1"), "", 20.0)
        time.sleep(1)
        assert not chief.done()
        assert not other.done()
        again = pool.submit(meet, Cluster(addresses, "worker:0"), "", 20.0)
        assert chief.result() == other.result() == again.result() == "go"


def test_strangers_do_not_disturb_the_chief(addresses):
    with ThreadPoolExecutor() as pool:
        chief = pool.submit(meet, Cluster(addresses, "chief:0"), "go", 20.0)
        others = [
            report(addresses["chief:0"], line)
            for line in (b"PRI * HTTP/2.0\r\n\r\n", b"trellis worker:7\n", b"\xff\n")
        ]
        workers = [
            pool.submit(meet, Cluster(addresses, n), "", 20.0) for n in ("worker:0", "worker:1")
        ]
        assert [worker.result() for worker in workers] == ["go", "go"]
        assert chief.result() == "go"
        for other in others:
            other.close()


def test_a_chief_of_an_earlier_attempt_is_not_the_chief(addresses):
    """Dying, it still answers on the port, in gRPC's words."""
    host, port = addresses["chief:0"].split(":")
    old = socket.create_server((host, int(port)))

    def answer_in_grpc():
        with contextlib.suppress(OSError):
            while True:
                old.accept()[0].sendall(b"\x00\x00\x18\x04\x00\x00\x00\x00\x00")

    threading.Thread(target=answer_in_grpc, daemon=True).start()
    with ThreadPoolExecutor() as pool:
        workers = [
            pool.submit(meet, Cluster(addresses, n), "", 20.0) for n in ("worker:0", "worker:1")
        ]
        time.sleep(1)
        assert not any(worker.done() for worker in workers)
        old.shutdown(socket.SHUT_RDWR)
        old.close()
        assert meet(Cluster(addresses, "chief:0"), "go", 20.0) == "go"
        assert [worker.result() for worker in workers] == ["go", "go"]


def test_who_does_not_come_is_named(addresses):
    with ThreadPoolExecutor() as pool:
        other = pool.submit(meet, Cluster(addresses, "worker:1"), "", 3.0)
        with pytest.raises(TrainingError, match=r"worker:0 did not start within 1 s"):
            meet(Cluster(addresses, "chief:0"), "go", 1.0)
        with pytest.raises(TrainingError, match=r"chief at 127.0.0.1:\d+, or a worker, did"):
            other.result()


def test_a_chief_waits_until_all_listen_and_they_until_it_is_gone(addresses):
    with ThreadPoolExecutor() as pool, contextlib.ExitStack() as stack:
        waiting = pool.submit(await_servers, Cluster(addresses, "chief:0"), 20.0)
        for name in ("worker:1", "worker:0"):
            assert not waiting.done()
            time.sleep(0.5)
            stack.enter_context(listening(addresses[name]))
        waiting.result()
        served = pool.submit(until_gone, Cluster(addresses, "worker:0"), 20.0)
        with listening(addresses["chief:0"]):
            time.sleep(4)
            assert not served.done()
        served.result()


def test_servers_name_who_does_not_come(addresses):
    with listening(addresses["worker:1"]):
        with pytest.raises(TrainingError, match=r"^worker:0 did not start within 1 s"):
            await_servers(Cluster(addresses, "chief:0"), 1.0)
        with pytest.raises(TrainingError, match=r"chief at 127.0.0.1:\d+ did not start within 1 s"):
            until_gone(Cluster(addresses, "worker:1"), 1.0)


def listening(address):
    """A server that takes connections and says nothing, as TensorFlow's does."""
    host, port = address.split(":")
    return socket.create_server((host, int(port)), backlog=50)


def report(address, line):
    """Connect and send a line, as soon as somebody listens."""
    host, port = address.split(":")
    for _ in range(100):
        with contextlib.suppress(OSError):
            connection = socket.create_connection((host, int(port)))
            connection.sendall(line)
            return connection
        time.sleep(0.05)
    raise AssertionError("nobody listens")

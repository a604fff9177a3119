"""Serving processes: killed, sick, under load, drained. A client runs beside, and counts."""

import threading
import time

import psutil
import pytest
from google.api_core import exceptions

from local_gcp.vertex.endpoints import health, scaling


@pytest.fixture
def load(predict):
    """with load() as answers: four clients that ask without a pause; `answers` holds what they got:
    the model's name, or the message of an error.
    """

    class Load:
        def __enter__(self):
            self.answers, self.stopping = [], False
            self.threads = [threading.Thread(target=self.run) for _ in range(4)]
            for thread in self.threads:
                thread.start()
            return self.answers

        def run(self):
            while not self.stopping:
                try:
                    self.answers.append(predict(1)[0]["model"])
                except exceptions.GoogleAPICallError as error:
                    self.answers.append(error.message)

        def __exit__(self, *_):
            self.stopping = True
            for thread in self.threads:
                thread.join()

    return Load


def test_no_request_fails_while_traffic_shifts(vertex, upload, endpoint, deploy, load, until):
    first = deploy(upload(NAME="first"), {"0": 100})
    second = deploy(upload(NAME="second"), {"0": 0, first: 100})
    with load() as answers:
        for percent in (10, 50):
            split = {first: 100 - percent, second: percent}
            vertex.endpoints.update_endpoint(
                endpoint={"name": endpoint, "traffic_split": split},
                update_mask={"paths": ["traffic_split"]},
            )
            seen = len(answers)
            until(lambda seen=seen: len(answers) > seen + 30)
        vertex.endpoints.undeploy_model(
            endpoint=endpoint, deployed_model_id=first, traffic_split={second: 100}
        ).result(timeout=60)
        seen = len(answers)
        until(lambda: len(answers) > seen + 30)
    assert set(answers) == {"first", "second"}
    assert set(answers[-30:]) == {"second"}


def test_a_request_that_chose_just_before_the_shift(
    vertex, upload, endpoint, deploy, predict, monkeypatch
):
    """It finds the model that it chose undeployed, and is answered by the other one."""
    first = deploy(upload(NAME="first"), {"0": 100})
    deploy(upload(NAME="second"), {"0": 0, first: 100})
    endpoints = vertex.service.endpoints
    seen = [endpoints.read(endpoint)]
    second = next(m.id for m in seen[0].deployed_models if m.id != first)
    vertex.endpoints.undeploy_model(
        endpoint=endpoint, deployed_model_id=first, traffic_split={second: 100}
    ).result(timeout=60)
    now = endpoints.read
    monkeypatch.setattr(endpoints, "read", lambda name: seen.pop() if seen else now(name))
    assert predict(1)[0]["model"] == "second"
    assert not seen


def test_a_request_that_is_being_answered_is_drained(vertex, upload, endpoint, deploy, predict):
    deployed = deploy(upload(), {"0": 100})
    slow = []
    thread = threading.Thread(target=lambda: slow.append(predict({"sleep": 1.5})))
    thread.start()
    time.sleep(0.3)
    started = time.monotonic()
    undeploy = vertex.endpoints.undeploy_model(endpoint=endpoint, deployed_model_id=deployed)
    undeploy.result(timeout=60)
    assert time.monotonic() - started > 1, "undeploying waits for it"
    thread.join()
    assert slow[0][0]["double"] == 0


def test_one_of_two_killed(vertex, upload, deploy, predict, load, until):
    deploy(upload(), {"0": 100}, least=2, most=2)
    pids = until(lambda: len(seen := {predict(1)[0]["pid"] for _ in range(20)}) == 2 and seen)
    victim = min(pids)
    with load() as answers:
        until(lambda: len(answers) > 20)
        psutil.Process(int(victim)).kill()
        seen = len(answers)
        until(lambda: len(answers) > seen + 200)
    # The other one answered what the killed one had been asked.
    assert set(answers) == {"model"}
    again = until(lambda: len(now := {predict(1)[0]["pid"] for _ in range(20)}) == 2 and now)
    assert victim not in again, "and it was started again"


def test_what_kills_is_asked_of_two_replicas_at_most(upload, deploy, predict):
    deploy(upload(), {"0": 100}, least=3, most=3)
    with pytest.raises(exceptions.ServiceUnavailable, match="ended during the request"):
        predict({"die": True})
    assert predict(1)[0]["double"] == 2


def test_a_sick_replica_is_replaced(upload, deploy, predict, until, tmp_path, monkeypatch):
    monkeypatch.setattr(health, "EVERY", 0.05)
    deploy(upload(SICK=tmp_path / "sick"), {"0": 100})
    (before,) = predict(1)
    (tmp_path / "sick").touch()
    until(lambda: not psutil.pid_exists(int(before["pid"])))
    with pytest.raises(exceptions.ServiceUnavailable, match="none of its replicas is healthy"):
        predict(1)
    (tmp_path / "sick").unlink()

    def well():
        try:
            return predict(1)[0]["pid"]
        except exceptions.ServiceUnavailable:
            return None

    assert until(well) != before["pid"]


def test_replicas_follow_the_load(vertex, upload, endpoint, deploy, predict, until, monkeypatch):
    monkeypatch.setattr(scaling, "AVERAGE", 0.2)
    monkeypatch.setattr(scaling, "PATIENCE", 0.3)
    deploy(upload(), {"0": 100}, least=1, most=2)

    def replicas():
        (shown,) = vertex.endpoints.get_endpoint(name=endpoint).deployed_models
        return shown.status.available_replica_count

    assert replicas() == 1
    busy = [threading.Thread(target=lambda: predict({"sleep": 2})) for _ in range(7)]
    for thread in busy:
        thread.start()
    until(lambda: replicas() == 2)
    for thread in busy:
        thread.join()
    until(lambda: replicas() == 1)
    time.sleep(0.5)
    assert replicas() == 1, "never fewer than the least"

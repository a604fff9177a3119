"""Counts of the requests that a real replica got."""

import time

import pytest
from google.api.httpbody_pb2 import HttpBody
from google.api_core import exceptions

from local_gcp.state import State
from local_gcp.vertex.endpoints.usage import KEPT, MINUTE, Usage


@pytest.fixture
def counted(vertex):
    """counted(): predictions, and responses by class, of all endpoints."""

    def read():
        now = time.time()
        minutes = vertex.service.usage.between(now - 600, now + 1)
        responses = {}
        for minute in minutes:
            for class_, number in minute.responses.items():
                responses[class_] = responses.get(class_, 0) + number
        return sum(minute.predictions for minute in minutes), responses

    return read


def test_predictions_and_responses_are_counted(vertex, endpoint, upload, deploy, predict, counted):
    deployed = deploy(upload(), {"0": 100})
    assert counted() == (0, {})
    predict(1, 2, 3)
    vertex.predictions.raw_predict(endpoint=endpoint, http_body=HttpBody(data=b"abc"))
    with pytest.raises(exceptions.InvalidArgument):
        predict("bad")
    with pytest.raises(exceptions.ServiceUnavailable):
        predict({"die": True})
    assert counted() == (4, {"2xx": 2, "4xx": 1, "5xx": 1})
    minute = vertex.service.usage.between(0, time.time() + 1)[0]
    assert (minute.endpoint, minute.deployed_model_id) == (endpoint, deployed)


def test_a_request_that_no_model_was_chosen_for_is_not_counted(predict, endpoint, counted):
    with pytest.raises(exceptions.FailedPrecondition):
        predict(1)
    assert counted() == (0, {})


class Named:
    """An endpoint, or a deployed model."""

    id, name, display_name = "1", "projects/1/locations/us-central1/endpoints/digits", "digits"


def test_counts_survive_the_server_and_are_forgotten_after_six_weeks(tmp_path, monkeypatch):
    def served():
        usage = Usage(State(tmp_path / "state.db"))
        usage.start()
        return usage

    def predictions(usage):
        return sum(minute.predictions for minute in usage.between(0, 1e12))

    now = time.time()
    first = served()
    first.add(Named, Named, 200, 5)
    first.stop()
    second = served()
    assert predictions(second) == 5
    second.stop()
    monkeypatch.setattr(time, "time", lambda: now + KEPT + 2 * MINUTE)
    third = served()
    assert predictions(third) == 0
    third.stop()

"""A smoke test with refusals, with errors, and with a challenger without requests."""

import pytest
from google.api_core import exceptions
from google.cloud.aiplatform_v1.types import PredictResponse

from tests.withheld import refuses
from trellis.workflow.stages.deploy import smoke_requests
from trellis_contracts.challenger import Edges, Example
from trellis_contracts.decision import NamedThreshold


def test_traffic_that_was_taken_away_meanwhile_is_reported():
    """A rollback takes it between the look before the test and the test."""
    with pytest.raises(smoke_requests.SmokeTestError, match="no longer gets requests"):
        smoke_requests.ask(None, "projects/1/locations/r/endpoints/e", "7", 0, EXAMPLES, 1000)


class Busy:
    """An endpoint that refuses some requests, and answers the others the same."""

    def __init__(self, *errors, prediction=None):
        self.errors = list(errors)
        self.prediction = prediction or {"value": 0.5}

    def predict(self, endpoint, instances, **_):
        if self.errors and (error := self.errors.pop(0)):
            raise error
        answer = PredictResponse(deployed_model_id="1")
        prediction = PredictResponse.pb(answer).predictions.add()
        prediction.struct_value.update(self.prediction)
        return answer


EXAMPLES = [Example(str(n), {"x": 1.0}, {"value": 0.5}) for n in range(2)]


def test_a_busy_service_is_asked_again(monkeypatch):
    monkeypatch.setattr(smoke_requests.time, "sleep", lambda _: None)
    busy = [exceptions.ServiceUnavailable("busy"), exceptions.TooManyRequests("full")]
    found = smoke_requests.ask(Busy(None, *busy), "e", "1", 100, EXAMPLES, 1000)
    assert found.requests == 2


def test_a_challenger_that_never_answers_fails(monkeypatch):
    monkeypatch.setattr(smoke_requests.time, "sleep", lambda _: None)
    silent = Busy(None, *[exceptions.ServiceUnavailable("no")] * smoke_requests.TRIES)
    with refuses(smoke_requests.SmokeTestError, match="example 1 with an error"):
        smoke_requests.ask(silent, "e", "1", 100, EXAMPLES, 1000)


def test_an_error_of_the_challenger_is_not_repeated():
    wrong = Busy(None, exceptions.InternalServerError("shape"))
    with refuses(smoke_requests.SmokeTestError, match="shape"):
        smoke_requests.ask(wrong, "e", "1", 100, EXAMPLES, 1000)


def test_a_label_may_differ_near_the_models_own_threshold_alone():
    shares = {"no": 0.9, "yes": 0.1}
    other = Busy(prediction={"label": "no", "probabilities": shares})
    expected = {"label": "yes", "probabilities": shares}
    examples = [Example("a", {"x": 1.0}, expected)]
    near, far = (Edges(NamedThreshold("yes", above)) for above in (0.09999, 0.05))
    assert smoke_requests.ask(other, "e", "1", 100, examples, 1000, near).examples == 1
    with refuses(smoke_requests.SmokeTestError, match="label is 'no', offline 'yes'"):
        smoke_requests.ask(other, "e", "1", 100, examples, 1000, far)


def test_an_example_that_never_reaches_the_challenger_is_named():
    with refuses(smoke_requests.SmokeTestError, match="for example 0 reached the challenger"):
        smoke_requests.ask(Busy(), "e", "another", 100, EXAMPLES, 1000)


class Divided(Busy):
    """An endpoint at which a model refuses every second request, and the other answers."""

    def __init__(self, prediction):
        super().__init__(*[exceptions.InvalidArgument("no column x"), None] * 40)
        self.prediction = prediction


def test_models_that_take_other_requests_may_refuse_those_of_a_service():
    shares = {"no": 0.75, "yes": 0.25}
    answer = {"classes": ["yes", "no"], "scores": [0.25, 0.75]}
    examples = [Example("a", {"x": "1"}, {"label": "no", "probabilities": shares})]
    told = smoke_requests.ask(
        Divided(answer), "e", "1", 50, examples, 1000, service="automl", mixed=True
    )
    assert (told.requests, told.largest_difference) == (2, 0.0)
    with refuses(smoke_requests.RefusedError, match="no column x"):
        smoke_requests.ask(Divided(answer), "e", "1", 50, examples, 1000, service="automl")


def test_a_service_that_refuses_its_own_example_fails():
    refusing = Busy(*[exceptions.InvalidArgument("no column x")] * 99)
    with refuses(smoke_requests.RefusedError, match="no column x"):
        smoke_requests.ask(refusing, "e", "1", 50, EXAMPLES, 1000, service="bqml", mixed=True)

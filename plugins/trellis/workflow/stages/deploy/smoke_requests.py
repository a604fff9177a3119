"""Send test examples to an endpoint until the challenger itself has answered each of them.

The endpoint picks the deployed model for a request by traffic share; the response names it. Each
request has one example, as most callers send them, so that the latency is representative.
"""

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.api_core import exceptions, retry
from google.protobuf import json_format, struct_pb2

from trellis.workflow.stages.deploy import answers, skew
from trellis_contracts.challenger import LARGEST, Edges, Example
from trellis_contracts.withheld import RowsError, quoted

CALL_TIMEOUT_SECONDS = 60.0

LONGEST_SECONDS = 300.0
"""Limit on the worker's time. 20 examples at 1% take about 2,000 requests."""

TRIES = 4
"""Number of times that an example is sent while Vertex AI answers 503 or 429, which it asks to
repeat; a challenger that cannot answer does so every time."""

START_SECONDS = 20.0
"""Time for which a replica that has just become ready may refuse its first requests."""

_AT_THE_START = (
    exceptions.ServiceUnavailable,
    exceptions.DeadlineExceeded,
    exceptions.TooManyRequests,
)


_BY_THE_MODEL = (exceptions.BadRequest, exceptions.InternalServerError, exceptions.Unknown)
"""Errors whose message is the model server's own, which may quote the instance."""


class SmokeTestError(RowsError, ValueError):
    """The challenger failed the test; the message says how."""


class RefusedError(SmokeTestError):
    """A model of the endpoint answered an example with an error."""


@dataclass(frozen=True)
class Findings:
    """Measurements of a passed smoke test.

    largest_difference: to the offline predictions, see `skew`. latency_ms: the challenger's median
    round-trip time.
    """

    examples: int
    requests: int
    largest_difference: float
    latency_ms: float

    def to_json(self) -> dict[str, Any]:
        return {
            "examples": self.examples,
            "requests": self.requests,
            "largest_difference": float(f"{self.largest_difference:.3g}"),
            "latency_ms": round(self.latency_ms, 2),
        }


def ask(
    client: Any,
    endpoint: str,
    deployed: str,
    share: int,
    examples: Sequence[Example],
    slowest_ms: float,
    edges: Edges = LARGEST,
    service: str | None = None,
    *,
    mixed: bool = False,
) -> Findings:
    """Send each example, and check the challenger's answers. Raises SmokeTestError.

    client: a PredictionServiceClient. deployed: the challenger's deployed model id, which has
    `share` percent of the requests. examples, edges, service: those of challenger.json. mixed:
    whether other models with requests take another form of them, and may refuse the challenger's.
    """
    if not share:
        raise SmokeTestError(
            "The challenger no longer gets requests: someone has changed the traffic meanwhile."
        )
    limit = skew.tries(share, len(examples))
    deadline = time.monotonic() + LONGEST_SECONDS
    differences: list[skew.Difference] = []
    latencies: list[float] = []
    requests = 0
    for number, example in enumerate(examples):
        sent = _request(example.instance, service)
        refused: RefusedError | None = None
        for _ in range(limit):
            if time.monotonic() > deadline:
                raise SmokeTestError(
                    f"Within {LONGEST_SECONDS:.0f} s and {requests} requests the challenger "
                    f"answered {number} of {len(examples)} examples, at {share}% of the requests. "
                    "Fewer examples, a larger first share, or a faster model finish in time."
                )
            predict = _predict_with_retries if not latencies else _predict
            requests += 1
            try:
                answer, seconds = predict(client, endpoint, sent, example.key)
            except RefusedError as error:
                if not mixed:
                    raise
                refused = error
                continue
            if answer.deployed_model_id == deployed:
                latencies.append(seconds * 1000)
                served = answers.plain(service, _plain(answer))
                differences += skew.compare(example.key, example.prediction, served, edges)
                break
        else:
            if refused is not None:
                # The challenger is almost certainly among the models that refuse it.
                raise refused
            raise SmokeTestError(
                f"None of {limit} requests for {_example(example.key)} reached the challenger, "
                f"which should get {share}% of them: someone has changed the traffic meanwhile."
            )
    if wrong := skew.skew(differences):
        raise SmokeTestError(wrong)
    median = statistics.median(latencies)
    if median >= slowest_ms:
        raise SmokeTestError(
            f"The challenger is too slow: its median answer took {median:.0f} ms; the limit is "
            f"{slowest_ms:.0f} ms (deploy.smoke.latency)."
        )
    worst = max(difference.size for difference in differences)
    return Findings(len(examples), requests, worst, median)


def _request(instance: Mapping[str, Any], service: str | None) -> dict[str, Any]:
    """Fields of a PredictRequest with one instance."""
    sent: dict[str, Any] = {
        "instances": [json_format.ParseDict(dict(instance), struct_pb2.Value())]
    }
    if parameters := answers.parameters(service, instance):
        sent["parameters"] = json_format.ParseDict(parameters, struct_pb2.Value())
    return sent


def _predict(client: Any, endpoint: str, sent: Any, key: str) -> tuple[Any, float]:
    """(PredictResponse, seconds). Raises SmokeTestError for an error answer."""
    for pause in (*(0.5 * 2**n for n in range(TRIES - 1)), None):
        try:
            return _timed(client, endpoint, sent)
        except (exceptions.ServiceUnavailable, exceptions.TooManyRequests) as error:
            if pause is None:
                raise _refused(key, error) from error
            time.sleep(pause)
        except exceptions.GoogleAPICallError as error:
            raise _refused(key, error) from error
    raise AssertionError("unreachable")


def _predict_with_retries(client: Any, endpoint: str, sent: Any, key: str) -> tuple[Any, float]:
    """Predict like `_timed`, but retry errors; used before the challenger's first answer."""
    retrying = retry.Retry(
        predicate=retry.if_exception_type(*_AT_THE_START),
        initial=0.5,
        maximum=4.0,
        timeout=START_SECONDS,
    )
    try:
        return retrying(_timed)(client, endpoint, sent)
    except exceptions.RetryError as error:
        raise _refused(key, error.cause) from error
    except exceptions.GoogleAPICallError as error:
        raise _refused(key, error) from error


def _timed(client: Any, endpoint: str, sent: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    answer = client.predict(endpoint=endpoint, **sent, timeout=CALL_TIMEOUT_SECONDS)
    return answer, time.perf_counter() - began


def _refused(key: str, error: Any) -> RefusedError:
    text = error.message
    if isinstance(error, _BY_THE_MODEL):
        text = quoted(text, "its message may quote the example")
    return RefusedError(
        f"The endpoint answers {_example(key)} with an error: {type(error).__name__}: {text}"
    )


def _example(key: str) -> str:
    return quoted(f"example {key}", "an example")


def _plain(answer: Any) -> Any:
    """The only prediction, as JSON values."""
    predictions = type(answer).pb(answer).predictions
    if len(predictions) != 1:
        raise SmokeTestError(f"One instance was sent, {len(predictions)} predictions came back.")
    return json_format.MessageToDict(predictions[0])

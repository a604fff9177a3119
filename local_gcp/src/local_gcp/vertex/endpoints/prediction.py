"""PredictionService: sends a request to a replica of a deployed model, chosen by traffic share.

The container gets {"instances": [...], "parameters": ...} and returns {"predictions": [...]}; a raw
request and its response are passed unchanged. Limits and errors are those of Vertex AI's shared
endpoints: https://cloud.google.com/vertex-ai/docs/predictions/get-online-predictions

If a replica refuses the connection, it did not receive the request, and another one is tried. If it
dies during a prediction, which has no side effects, one other replica is tried; not a third, since
the request may be the cause. A raw request may have side effects, and is not sent twice. If no
replica is left, the response is 503.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Mapping, Sequence
from typing import Any

import grpc
from google.api import httpbody_pb2
from google.cloud import aiplatform_v1 as api

from local_gcp.field_errors import invalid_field
from local_gcp.vertex.endpoints import explain, traffic, values
from local_gcp.vertex.endpoints.endpoint_service import Endpoints
from local_gcp.vertex.endpoints.fleet import Fleet
from local_gcp.vertex.endpoints.replica_call import Answer, DiedError, RefusedError, call
from local_gcp.vertex.endpoints.request_log import RequestLog
from local_gcp.vertex.endpoints.usage import Usage
from local_gcp.wire import RpcError, failed_precondition, not_found

LARGEST_REQUEST = 1_500_000
"""Bytes."""
TIMEOUT = 60.0
"""Seconds that a prediction may take."""
_JSON = "application/json"
_UNAVAILABLE, _TOO_SLOW = 503, 504
_EXPLAINED_AT_ONCE = 64
"""Instances in a request to the container."""
_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    413: grpc.StatusCode.INVALID_ARGUMENT,
    422: grpc.StatusCode.INVALID_ARGUMENT,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    501: grpc.StatusCode.UNIMPLEMENTED,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}
_QUOTED = 4000
"""Characters of the container's message."""


class Predictions:
    """See the module."""

    def __init__(self, endpoints: Endpoints, fleet: Fleet, usage: Usage, log: RequestLog):
        self._endpoints, self._fleet, self._usage, self._log = endpoints, fleet, usage, log

    def predict(self, request: Any, context: Any) -> api.PredictResponse:
        pb = type(request).pb(request)
        check_size(pb.ByteSize())
        return _response(self.ask(request.endpoint, _body(pb), _left(context)))

    def raw_predict(self, request: Any, context: Any) -> httpbody_pb2.HttpBody:
        sent = request.http_body
        check_size(len(sent.data))
        answer, _ = self.ask_raw(request.endpoint, sent.data, sent.content_type, _left(context))
        _check_status(answer)
        return httpbody_pb2.HttpBody(content_type=answer.content_type, data=answer.body)

    def explain(self, request: Any, context: Any) -> api.ExplainResponse:
        """Predictions with their attributions, by one deployed model."""
        pb = type(request).pb(request)
        check_size(pb.ByteSize())
        body = _body(pb)
        deadline = time.monotonic() + min(TIMEOUT, _left(context))
        endpoint = self._endpoints.read(request.endpoint)
        deployed = self._choose(endpoint, request.deployed_model_id)
        if deployed.disable_explanations or "explanation_spec" not in deployed:
            raise failed_precondition(
                f"DeployedModel {deployed.id} was deployed without explanation_spec: it cannot be "
                "explained."
            )

        def predict(instances: Sequence[Any]) -> list[Any]:
            answers: list[Any] = []
            for start in range(0, len(instances), _EXPLAINED_AT_ONCE):
                part = {**body, "instances": instances[start : start + _EXPLAINED_AT_ONCE]}
                left = max(0.001, deadline - time.monotonic())
                answer = self.ask(request.endpoint, part, left, deployed.id)
                answers += answer["predictions"]
            return answers

        spec = _overridden(deployed.explanation_spec, request.explanation_spec_override)
        predictions, found = explain.attribute(spec, body["instances"], predict)
        explanations = [{"attributions": attributions} for attributions in found]
        response = api.ExplainResponse(explanations=explanations, deployed_model_id=deployed.id)
        api.ExplainResponse.pb(response).predictions.extend(map(values.from_json, predictions))
        return response

    def ask(
        self,
        endpoint: str,
        body: Mapping[str, Any],
        timeout: float = math.inf,
        deployed_id: str = "",
    ) -> dict[str, Any]:
        """The fields of a PredictResponse, in JSON's values; see `ask_raw`."""
        try:
            sent = json.dumps(body).encode()
        except RecursionError:
            raise invalid_field("instances", "They are nested too deeply.") from None
        answer, endpoint_, deployed = self._sent(endpoint, sent, _JSON, deployed_id, timeout, True)
        answered: Mapping[str, Any] = {"predictions": []}
        try:
            _check_status(answer)
            answered = _parsed(answer)
            if not deployed_id:
                # Of an explanation many requests are made, and none is a caller's.
                self._log.add(endpoint_, deployed, body["instances"], answered["predictions"])
        finally:
            self._usage.add(endpoint_, deployed, answer.status, len(answered["predictions"]))
        fields = {
            "predictions": answered["predictions"],
            "deployed_model_id": deployed.id,
            "model": deployed.model,
            "model_version_id": deployed.model_version_id,
            "model_display_name": deployed.display_name,
        }
        return fields | ({"metadata": answered["metadata"]} if "metadata" in answered else {})

    def ask_raw(
        self, endpoint: str, body: bytes, content_type: str, timeout: float = math.inf
    ) -> tuple[Answer, api.DeployedModel]:
        """The answer of one of the models, whatever its status, and which model it was; see
        `_sent` for the errors.
        """
        answer, endpoint_, deployed = self._sent(endpoint, body, content_type, "", timeout)
        # The content of a raw body is unknown here.
        self._usage.add(endpoint_, deployed, answer.status, int(200 <= answer.status < 300))
        return answer, deployed

    def _sent(
        self,
        endpoint_name: str,
        body: bytes,
        content_type: str,
        deployed_id: str,
        timeout: float,
        again: bool = False,
    ) -> tuple[Answer, api.Endpoint, api.DeployedModel]:
        """A replica's answer, whatever its status, for the caller to count.

        `deployed_id`: that model, whatever its share; `again`: whether another replica may be asked
        when the first dies. RpcError: NOT_FOUND, FAILED_PRECONDITION when
        the endpoint takes no traffic, UNAVAILABLE when no replica can answer, DEADLINE_EXCEEDED.
        """
        seconds = min(TIMEOUT, timeout)
        deadline = time.monotonic() + seconds
        endpoint, deployed, key = self._target(endpoint_name, deployed_id)
        tried: list[Any] = []
        died: RpcError | None = None
        while True:
            replica = self._fleet.lease(key, tried)
            if replica is None and died:
                self._usage.add(endpoint, deployed, _UNAVAILABLE, 0)
                raise died
            if replica is None:
                # The model was undeployed after it was chosen: choose again.
                if self._endpoints.read(endpoint_name) is endpoint:
                    self._usage.add(endpoint, deployed, _UNAVAILABLE, 0)
                    raise _unavailable(deployed, "none of its replicas is healthy")
                endpoint, deployed, key = self._target(endpoint_name, deployed_id)
                continue
            gone = False
            try:
                headers = {"Content-Type": content_type} if content_type else {}
                route = self._fleet.get(key).launch.predict
                left = max(0.001, deadline - time.monotonic())
                answer = call(replica.port, "POST", route, body, headers, left)
                return answer, endpoint, deployed
            except RefusedError:
                gone = True
                tried.append(replica)
            except DiedError as error:
                gone = True
                tried.append(replica)
                first = died is None
                died = _unavailable(deployed, f"its replica ended during the request ({error})")
                if not (again and first):
                    self._usage.add(endpoint, deployed, _UNAVAILABLE, 0)
                    raise died from None
            except TimeoutError:
                self._usage.add(endpoint, deployed, _TOO_SLOW, 0)
                raise RpcError(
                    grpc.StatusCode.DEADLINE_EXCEEDED,
                    f"The prediction took longer than {seconds:g} s.",
                ) from None
            finally:
                self._fleet.release(replica, gone)

    def _target(self, name: str, deployed_id: str) -> tuple[api.Endpoint, api.DeployedModel, str]:
        """(endpoint, the chosen model, its key in the fleet)."""
        endpoint = self._endpoints.read(name)
        deployed = self._choose(endpoint, deployed_id)
        return endpoint, deployed, f"{endpoint.name}/deployedModels/{deployed.id}"

    def _choose(self, endpoint: api.Endpoint, deployed_id: str) -> api.DeployedModel:
        if not deployed_id:
            deployed_id = traffic.choose(endpoint.traffic_split, random.random()) or ""
            if not deployed_id:
                # Google's message, as clients have reported it.
                raise failed_precondition(f"Endpoint {endpoint.name} doesn't have traffic_split.")
        for deployed in endpoint.deployed_models:
            if deployed.id == deployed_id:
                return deployed
        raise not_found(f"{endpoint.name}/deployedModels/{deployed_id}")


def _body(pb: Any) -> dict[str, Any]:
    """The container's request body for instances and parameters."""
    body: dict[str, Any] = {"instances": [values.to_json(i) for i in pb.instances]}
    if pb.HasField("parameters"):
        body["parameters"] = values.to_json(pb.parameters)
    try:
        values.check_finite(body)
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        raise invalid_field(field, f"{problem}.") from None
    return body


def _overridden(
    spec: api.ExplanationSpec, override: api.ExplanationSpecOverride
) -> api.ExplanationSpec:
    """The specification with a request's overrides. INVALID_ARGUMENT for another method, which
    ExplanationSpecOverride does not allow.
    """
    result = api.ExplanationSpec(spec)
    wanted = override.parameters
    method = type(wanted).pb(wanted).WhichOneof("method")
    if method and method not in spec.parameters:
        field = f"explanation_spec_override.parameters.{method}"
        raise invalid_field(field, "The attribution method cannot be changed.")
    if "sampled_shapley_attribution" in wanted:
        result.parameters.sampled_shapley_attribution = wanted.sampled_shapley_attribution
    if wanted.top_k:
        result.parameters.top_k = wanted.top_k
    if "output_indices" in wanted:
        result.parameters.output_indices = wanted.output_indices
    # Not through proto-plus, which takes a Value for what is in it.
    inputs = type(result).pb(result).metadata.inputs
    for feature, metadata in type(override).pb(override).metadata.inputs.items():
        if feature not in inputs:
            raise invalid_field(
                "explanation_spec_override.metadata.inputs", f"There is no input {feature!r}."
            )
        del inputs[feature].input_baselines[:]
        inputs[feature].input_baselines.extend(metadata.input_baselines)
    return result


def check_size(count: int) -> None:
    """FAILED_PRECONDITION with Google's message, for a request that is too large."""
    if count > LARGEST_REQUEST:
        raise failed_precondition(f"The request size ({count} bytes) exceeds 1.500MB limit.")


def _check_status(answer: Answer) -> None:
    """The container's refusal as an RpcError with its message."""
    if 200 <= answer.status < 300:
        return
    code = _CODES.get(answer.status)
    if code is None:
        client = 400 <= answer.status < 500
        code = grpc.StatusCode.FAILED_PRECONDITION if client else grpc.StatusCode.INTERNAL
    raise RpcError(code, answer.text[:_QUOTED] or f"The model server answered {answer.status}.")


def _parsed(answer: Answer) -> Mapping[str, Any]:
    """Parse the container's answer; its "predictions" are an array."""
    try:
        answered = values.parse(answer.body)
        if not isinstance(answered["predictions"], list):
            raise TypeError("predictions is not an array")
        return answered
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RpcError(
            grpc.StatusCode.INTERNAL,
            f'The model server did not answer {{"predictions": [...]}}: {error!r}; it said: '
            f"{answer.text[:_QUOTED]}",
        ) from None


def _response(answer: dict[str, Any]) -> api.PredictResponse:
    plain = {name: value for name, value in answer.items() if isinstance(value, str)}
    response = api.PredictResponse(plain)
    # Not through proto-plus, which takes a Value for what is in it.
    pb = api.PredictResponse.pb(response)
    pb.predictions.extend(values.from_json(prediction) for prediction in answer["predictions"])
    if "metadata" in answer:
        pb.metadata.CopyFrom(values.from_json(answer["metadata"]))
    return response


def _unavailable(deployed: api.DeployedModel, why: str) -> RpcError:
    return RpcError(
        grpc.StatusCode.UNAVAILABLE,
        f"The model {deployed.display_name} (DeployedModel {deployed.id}) cannot answer: {why}.",
    )


def _left(context: Any) -> float:
    left = context.time_remaining()
    return math.inf if left is None else left

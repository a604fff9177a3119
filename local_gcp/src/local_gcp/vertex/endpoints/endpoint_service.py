"""EndpointService: endpoints, the models deployed there, and how traffic is split between them.

The fleet runs deployments: `deploy_model` stores the request and starts the processes; when they
are healthy, one transaction adds the model to the endpoint, applies the traffic split and ends the
operation. `undeploy_model` removes the traffic at once, and the model when its last process has
ended.
https://cloud.google.com/vertex-ai/docs/predictions/deploy-model-api
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from google.cloud import aiplatform_v1 as api
from google.rpc import code_pb2, status_pb2

from local_gcp import filters, names
from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.listing import masked, page
from local_gcp.operations import Operations
from local_gcp.state import State
from local_gcp.variants import Variants
from local_gcp.vertex import validation
from local_gcp.vertex.endpoints import container, request, request_log, traffic
from local_gcp.vertex.endpoints.deployment import Deployment
from local_gcp.vertex.endpoints.etags import Etags
from local_gcp.vertex.endpoints.fleet import Fleet
from local_gcp.vertex.registry import Registry, key
from local_gcp.vertex.resources import deletion_metadata, timestamp
from local_gcp.wire import already_exists, failed_precondition, not_emulated, not_found

_FIELDS = {
    "endpoint": filters.Id("endpoint"),
    "display_name": filters.Text("display_name"),
    "labels": filters.Labels("labels"),
}
_FIELDS["displayName"] = _FIELDS["display_name"]
_LOGGING = "predict_request_response_logging_config"
_UPDATABLE = ("display_name", "description", "labels", "traffic_split", _LOGGING)
_MUTABLE = (
    "dedicated_resources.min_replica_count",
    "dedicated_resources.max_replica_count",
    "dedicated_resources.required_replica_count",
    "dedicated_resources.autoscaling_metric_specs",
    "disable_container_logging",
)


class Endpoints:
    """EndpointService. `read` is for predictions: it does not wait for the disk."""

    def __init__(
        self,
        state: State,
        operations: Operations,
        registry: Registry,
        fleet: Fleet,
        variants: Variants,
        warehouse: Any = None,
    ):
        self._state, self._operations = state, operations
        self._etags = Etags(variants, self._change)
        self._registry, self._fleet, self._warehouse = registry, fleet, warehouse
        self._table = state.table("endpoints", api.Endpoint)
        self._requests = state.table("deployModelRequests", api.DeployModelRequest)
        self._mutations = state.table("mutateDeployedModelRequests", api.DeployedModel)
        self._memory: dict[str, api.Endpoint] = {}
        operations.define("create_endpoint", api.Endpoint, self._create)
        operations.define("delete_endpoint", api.DeleteEndpointRequest, self._delete)

    def start(self) -> None:
        """Serve the deployed models again."""
        self._memory = dict(self._table.list())
        self._fleet.start(self._settled)

    def read(self, name: str) -> api.Endpoint:
        """The endpoint, which must not be changed; raises NOT_FOUND."""
        endpoint = self._memory.get(names.resource(name, "endpoints", "endpoint"))
        if endpoint is None:
            raise not_found(name)
        return endpoint

    def create_endpoint(self, request_: Any, _context: Any) -> Any:
        parent = names.location(request_.parent)
        sent = request_.endpoint
        request.check_endpoint(sent, request_.endpoint_id, names.last(parent))
        traffic.check(sent.traffic_split, (), "endpoint.traffic_split")
        now = timestamp(time.time())
        endpoint = api.Endpoint(
            name=f"{parent}/endpoints/{request_.endpoint_id or names.new_id()}",
            display_name=sent.display_name,
            description=sent.description,
            labels=sent.labels,
            create_time=now,
        )
        if "encryption_spec" in sent:
            endpoint.encryption_spec = sent.encryption_spec
        if _LOGGING in sent:
            request_log.check(sent.predict_request_response_logging_config, self._warehouse)
            setattr(endpoint, _LOGGING, sent.predict_request_response_logging_config)
        metadata = api.CreateEndpointOperationMetadata(generic_metadata=_now())
        with self._state.lock:
            taken = self._operations.under_way("create_endpoint", endpoint.name)
            if taken or endpoint.name in self._memory:
                raise already_exists(endpoint.name)
            return self._operations.begin("create_endpoint", endpoint.name, endpoint, metadata)

    def _create(self, _name: str, endpoint: api.Endpoint) -> api.Endpoint:
        self._change(endpoint)
        return api.Endpoint(name=endpoint.name)  # real responses have no more

    def get_endpoint(self, request_: Any, _context: Any) -> api.Endpoint:
        return self._view(self._find(request_.name))

    def list_endpoints(self, request_: Any, _context: Any) -> dict[str, Any]:
        if request_.order_by:
            raise not_emulated("order_by", "The newest come first; sort in the client.")
        matches = filters.parse_filter(request_.filter, _FIELDS)
        prefix = f"{names.location(request_.parent)}/endpoints/"
        every = [self._view(endpoint) for _, endpoint in self._table.list_lagging(prefix)]
        found, token = page(filter(matches, every), request_.page_size, request_.page_token)
        shown = [masked(endpoint, request_.read_mask) for endpoint in found]
        return {"endpoints": shown, "next_page_token": token}

    def update_endpoint(self, request_: Any, _context: Any) -> api.Endpoint:
        sent, paths = request_.endpoint, list(request_.update_mask.paths)
        if not paths:
            raise invalid_field("update_mask", REQUIRED)
        for path in paths:
            if path not in _UPDATABLE:
                raise invalid_field("update_mask", f"{path!r} cannot be updated.")
        with self._state.lock:
            endpoint = self._find(sent.name)
            if sent.etag:
                self._etags.check(endpoint, sent.etag)
            if "display_name" in paths:
                validation.check_display_name(sent.display_name, "endpoint.display_name")
                endpoint.display_name = sent.display_name
            if "description" in paths:
                endpoint.description = sent.description
            if "labels" in paths:
                validation.check_labels(sent.labels, "endpoint.labels")
                endpoint.labels = sent.labels
            if "traffic_split" in paths:
                self._check_traffic(endpoint, sent.traffic_split, "endpoint.traffic_split")
                endpoint.traffic_split = sent.traffic_split
            if _LOGGING in paths:
                request_log.check(sent.predict_request_response_logging_config, self._warehouse)
                setattr(endpoint, _LOGGING, sent.predict_request_response_logging_config)
            self._put(endpoint)
            self._memory[endpoint.name] = endpoint
            return self._view(api.Endpoint(endpoint))

    def delete_endpoint(self, request_: Any, _context: Any) -> Any:
        with self._state.lock:
            name = self._deletable(request_.name)
            return self._operations.begin_deletion(
                "delete_endpoint", name, request_, deletion_metadata()
            )

    def _deletable(self, endpoint_name: str) -> str:
        """Name of an endpoint without models; NOT_FOUND, FAILED_PRECONDITION."""
        endpoint = self._find(endpoint_name)
        if deployed := self._fleet.of_endpoint(endpoint.name):
            ids = ", ".join(d.id for d in deployed)
            raise failed_precondition(
                f"Endpoint {endpoint.name} has deployed or being deployed model(s), with "
                f"DeployedModel ID(s) {ids}. Undeploy them before the Endpoint is deleted."
            )
        return endpoint.name

    def _delete(self, name: str, _request: Any) -> None:
        self._table.delete(self._deletable(name))
        del self._memory[name]

    def deploy_model(self, request_: Any, _context: Any) -> Any:
        name = names.resource(request_.endpoint, "endpoints", "endpoint")
        sent = request_.deployed_model
        request.check_deployed(sent, self._fleet.machine.cores)
        with self._state.lock:
            endpoint = self._find(name)
            model = self._registry.find(sent.model, "deployed_model.model")
            if sent.id and self._fleet.get(f"{name}/deployedModels/{sent.id}"):
                raise already_exists(f"{name}/deployedModels/{sent.id}")
            self._check_traffic(endpoint, request_.traffic_split, "traffic_split", traffic.NEW)
            deployment_request = api.DeployModelRequest(request_)
            deployed = deployment_request.deployed_model
            deployed.id = sent.id or names.new_id()
            deployed.model, deployed.model_version_id = model.name, model.version_id
            deployed.display_name = sent.display_name or model.display_name
            if not deployed.explanation_spec and "explanation_spec" in model:
                deployed.explanation_spec = model.explanation_spec
            launch = container.launch(model, deployed, name, self._registry.artifacts(model))
            least, most, required = request.replicas(deployed)
            metadata = api.DeployModelOperationMetadata(generic_metadata=_now())
            if self._operations.fails("deploy_model"):
                return self._operations.fail_later(name, metadata)
            with self._state.transaction():
                operation = self._operations.start(name, metadata)
                self._requests.put(operation.name, deployment_request)
                deployment = Deployment(
                    endpoint=name,
                    id=deployed.id,
                    model=key(model),
                    launch=launch,
                    least=least,
                    most=most,
                    required=required,
                    labels=dict(endpoint.labels),
                    display_name=deployed.display_name,
                    operation=operation.name,
                )
                self._registry.deployed(deployment.model, name, deployed.id)
                self._fleet.save(deployment)
            self._fleet.watch(deployment)
        return operation

    def undeploy_model(self, request_: Any, _context: Any) -> Any:
        with self._state.lock:
            endpoint, deployment = self._deployed(request_.endpoint, request_.deployed_model_id)
            split = dict(request_.traffic_split or endpoint.traffic_split)
            others = self._serving(endpoint) - {deployment.id}
            if not others:
                split = {}
            elif split.pop(deployment.id, 0):
                raise failed_precondition(
                    f"DeployedModel {deployment.id} has traffic assigned to it: give a "
                    "traffic_split without it, over the other DeployedModels of the Endpoint."
                )
            traffic.check(split, others, "traffic_split")
            metadata = api.UndeployModelOperationMetadata(generic_metadata=_now())
            if self._operations.fails("undeploy_model"):
                return self._operations.fail_later(endpoint.name, metadata)
            with self._state.transaction():
                endpoint.traffic_split = split
                self._put(endpoint)
                operation = self._operations.start(endpoint.name, metadata)
                self._fleet.undeploy(deployment, operation.name)
            self._memory[endpoint.name] = endpoint
        return operation

    def mutate_deployed_model(self, request_: Any, _context: Any) -> Any:
        sent, paths = request_.deployed_model, list(request_.update_mask.paths)
        if not paths:
            raise invalid_field("update_mask", REQUIRED)
        for path in paths:
            if path not in _MUTABLE:
                raise invalid_field("update_mask", f"{path!r} cannot be mutated.")
        with self._state.lock:
            endpoint, deployment = self._deployed(request_.endpoint, sent.id)
            changed = api.DeployedModel(self._listed(endpoint, sent.id))
            for path in paths:
                where, _, field = path.rpartition(".")
                source, target = (getattr(m, where) if where else m for m in (sent, changed))
                setattr(target, field, getattr(source, field))
            request.check_replicas(changed, self._fleet.machine.cores)
            least, most, required = request.replicas(changed)
            metadata = api.MutateDeployedModelOperationMetadata(generic_metadata=_now())
            if self._operations.fails("mutate_deployed_model"):
                return self._operations.fail_later(endpoint.name, metadata)
            with self._state.transaction():
                operation = self._operations.start(endpoint.name, metadata)
                self._mutations.put(operation.name, changed)
                deployment.least, deployment.most, deployment.required = least, most, required
                deployment.operation, deployment.began = operation.name, time.time()
                self._fleet.save(deployment)
            self._fleet.watch(deployment)
        return operation

    def status(self) -> list[dict[str, Any]]:
        """The deployed models in the JSON of `local-gcp status`, with the jobs."""
        endpoints = list(self._memory.values())
        return [self._status(e, d) for e in endpoints for d in self._fleet.of_endpoint(e.name)]

    def _status(self, endpoint: api.Endpoint, deployment: Deployment) -> dict[str, Any]:
        states = {"deploying": "PENDING", "serving": "RUNNING"}
        return {
            "name": deployment.key,
            "display_name": deployment.display_name,
            "kind": "endpoint",
            "state": f"JOB_STATE_{states.get(deployment.state, 'CANCELLING')}",
            "labels": dict(deployment.labels),
            "create_time": timestamp(deployment.began).isoformat().replace("+00:00", "Z"),
            "error": deployment.error,
            "model": deployment.model,
            "traffic": endpoint.traffic_split.get(deployment.id, 0),
            "replicas": self._fleet.status(deployment),
            "trials": [],
        }

    def _settled(self, deployment: Deployment) -> None:
        """Called by the fleet at the end of an operation, inside a transaction."""
        operation = deployment.operation
        endpoint = self._find(deployment.endpoint)
        if deployment.state == "failing":
            self._registry.undeployed(deployment.model, endpoint.name, deployment.id)
            self._requests.delete(operation)
            self._fail(operation, deployment.error)
        elif deployment.state == "undeploying":
            listed = self._listed(endpoint, deployment.id)
            endpoint.deployed_models.remove(listed)
            self._registry.undeployed(deployment.model, endpoint.name, deployment.id)
            self._change(endpoint)
            self._operations.finish(operation, api.UndeployModelResponse())
        elif changed := self._mutations.get(operation):
            self._mutations.delete(operation)
            if deployment.error:
                self._fail(operation, deployment.error)
                return
            place = [m.id for m in endpoint.deployed_models].index(changed.id)
            endpoint.deployed_models[place] = changed
            self._change(endpoint)
            response = api.MutateDeployedModelResponse(deployed_model=changed)
            self._operations.finish(operation, response)
        else:
            self._deploy(deployment, endpoint, self._requests.get(operation))

    def _deploy(
        self,
        deployment: Deployment,
        endpoint: api.Endpoint,
        deployment_request: api.DeployModelRequest,
    ) -> None:
        deployed = deployment_request.deployed_model
        deployed.create_time = timestamp(time.time())
        if deployment_request.traffic_split:
            split = dict(deployment_request.traffic_split)
            if traffic.NEW in split:
                split[deployed.id] = split.pop(traffic.NEW)
            # If a model was undeployed meanwhile, the split is not applied any more.
            if set(split) <= self._serving(endpoint) | {deployed.id}:
                endpoint.traffic_split = split
        endpoint.deployed_models.append(deployed)
        self._change(endpoint)
        self._requests.delete(deployment.operation)
        response = api.DeployModelResponse(deployed_model={"id": deployed.id})
        self._operations.finish(deployment.operation, response)

    def _fail(self, operation: str, why: str | None) -> None:
        error = status_pb2.Status(code=code_pb2.FAILED_PRECONDITION, message=why or "")
        self._operations.finish(operation, error=error)

    def _change(self, endpoint: api.Endpoint) -> None:
        self._put(endpoint)
        self._memory[endpoint.name] = endpoint

    def _put(self, endpoint: api.Endpoint) -> None:
        endpoint.update_time, endpoint.etag = timestamp(time.time()), names.new_id()
        self._table.put(endpoint.name, endpoint)

    def _find(self, name: str) -> api.Endpoint:
        """A copy of the endpoint; NOT_FOUND."""
        endpoint = self._table.get(names.resource(name, "endpoints"))
        if endpoint is None:
            raise not_found(name)
        return endpoint

    def _view(self, endpoint: api.Endpoint) -> api.Endpoint:
        """The endpoint, with the fleet's state of its models."""
        for deployed in endpoint.deployed_models:
            deployment = self._fleet.get(f"{endpoint.name}/deployedModels/{deployed.id}")
            if deployment:
                deployed.status.available_replica_count = len(deployment.ready)
        return endpoint

    def _deployed(self, endpoint_name: str, model_id: str) -> tuple[api.Endpoint, Deployment]:
        """An endpoint and a model that is deployed there, with no operation under way."""
        name = names.resource(endpoint_name, "endpoints", "endpoint")
        endpoint = self._find(name)
        deployment = self._fleet.get(f"{name}/deployedModels/{model_id}")
        if deployment is None or not self._listed(endpoint, model_id):
            raise not_found(f"{name}/deployedModels/{model_id}")
        if deployment.operation:
            raise failed_precondition(
                f"{deployment.key} is being changed by {deployment.operation}: wait for its end."
            )
        return endpoint, deployment

    def _listed(self, endpoint: api.Endpoint, model_id: str) -> api.DeployedModel | None:
        return next((m for m in endpoint.deployed_models if m.id == model_id), None)

    def _serving(self, endpoint: api.Endpoint) -> set[str]:
        """Ids of the models that can receive traffic."""
        going = {d.id for d in self._fleet.of_endpoint(endpoint.name) if d.state == "undeploying"}
        return {m.id for m in endpoint.deployed_models} - going

    def _check_traffic(
        self, endpoint: api.Endpoint, split: Mapping[str, int], field: str, *more: str
    ) -> None:
        traffic.check(split, {*self._serving(endpoint), *more}, field)


def _now() -> dict[str, Any]:
    moment = timestamp(time.time())
    return {"create_time": moment, "update_time": moment}

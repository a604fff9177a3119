"""Endpoints from Airflow: the endpoint, its deployed models, and their traffic."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from airflow.providers.google.cloud.hooks.vertex_ai.endpoint_service import EndpointServiceHook
from airflow.providers.google.cloud.hooks.vertex_ai.model_service import ModelServiceHook
from airflow.providers.google.cloud.operators.vertex_ai import endpoint_service as provider
from google.api_core import exceptions
from google.cloud.aiplatform_v1.types import DeployedModel, Endpoint, Model
from google.rpc import code_pb2

from trellis.identity import EXPERIMENT_LABEL, job_labels
from trellis.verdict import JobFailed, JobFailedForGood
from trellis.vertex.calls import CALL_TIMEOUT_SECONDS, REPEATABLE
from trellis.vertex.deployments import (
    deployed_ids,
    deployment_id,
    describe_traffic,
    find_deployed,
    find_endpoint,
    get_endpoint,
    set_traffic,
    version_at,
)
from trellis.vertex.jobs import machine_text, parse_message
from trellis.vertex.links import ConsoleLink
from trellis.vertex.registry import find_version, service_of
from trellis.vertex.stepwise import StepwiseOperator, unfinished
from trellis.vertex.traffic import raised
from trellis.vertex.versions import VersionName, parse_version


class EndpointBaseOperator(StepwiseOperator):
    """Base of the operators on endpoints."""

    @cached_property
    def _client(self) -> Any:
        return self._hook(EndpointServiceHook).get_endpoint_service_client(self.region)


class _ServingOperator(EndpointBaseOperator):
    """Base of the operators by which an endpoint serves a model."""

    endpoint_id: str
    model: str

    def _reads(self) -> Iterable[str]:
        return (self.model,)

    def _writes(self) -> Iterable[str]:
        return (self.endpoint_id,)


class EndpointOperator(EndpointBaseOperator, provider.CreateEndpointOperator):
    """Find the endpoint of an experiment by its label, or create it. Returns {"endpoint": name}.

    One that was deleted by hand is created again, under the same ID. One with another network or
    key than requested is refused: neither can be changed. Waits deferred.

    :param endpoint_id: ID (templated) of an endpoint to create: a letter, then up to 62 of a-z,
        0-9 and -; a fixed ID keeps two concurrent runs from creating two endpoints.
    :param endpoint: the Endpoint (templated), in protobuf's JSON form, with the label
        `trellis-experiment`.
    """

    doing = "create the endpoint"
    template_fields: Sequence[str] = (
        *provider.CreateEndpointOperator.template_fields,
        "endpoint_id",
        "endpoint",
    )
    endpoint_id: str

    def _advance(self, context: Any, done: str | None) -> Any:
        sent = parse_message(Endpoint, self.endpoint, "endpoint")
        experiment = sent.labels.get(EXPERIMENT_LABEL)
        if not experiment:
            raise ValueError(f"The endpoint needs a label {EXPERIMENT_LABEL}.")
        place = (self._client, self._parent, experiment, self.endpoint_id)
        found = self._listed(lambda: find_endpoint(*place), done)
        if found is not None:
            _check_reach(found, sent)
            found = self._with_logging(found, sent)
            self.log.info("Endpoint %s: %s", found.name, describe_traffic(found))
            ConsoleLink.remember(context, found.name)
            return {"endpoint": found.name}
        name = f"{self._parent}/endpoints/{self.endpoint_id}"
        for operation in unfinished(self._client, name):
            return self._wait(context, operation, None)
        request = {"parent": self._parent, "endpoint": sent, "endpoint_id": self.endpoint_id}
        try:
            operation = self._client.create_endpoint(request=request, timeout=CALL_TIMEOUT_SECONDS)
        except exceptions.AlreadyExists as error:
            raise self._taken(name, experiment) from error
        self.log.info("Creating endpoint %s", name)
        return self._wait(context, operation.operation, self.doing)

    def _with_logging(self, found: Any, sent: Any) -> Any:
        """The endpoint, after it keeps the wanted share of its requests; none, if none is wanted.

        https://cloud.google.com/vertex-ai/docs/predictions/online-prediction-logging
        """
        name = "predict_request_response_logging_config"
        is_, wanted = getattr(found, name), getattr(sent, name)
        if is_ == wanted or not (is_.enabled or wanted.enabled):
            return found
        if not wanted.enabled:
            wanted = {"enabled": False}
        changed = Endpoint(name=found.name, **{name: wanted})
        self.log.info(
            "Requests that are kept: %s",
            f"{changed.predict_request_response_logging_config}".strip(),
        )
        return self._client.update_endpoint(
            endpoint=changed, update_mask={"paths": [name]}, timeout=CALL_TIMEOUT_SECONDS
        )

    def _taken(self, name: str, experiment: str) -> Exception:
        """The error for an ID that is in use."""
        try:
            endpoint = self._client.get_endpoint(name=name, **REPEATABLE)
        except exceptions.NotFound:
            return JobFailed(f"{name} is just being created: Airflow retries the task.")
        label = endpoint.labels.get(EXPERIMENT_LABEL)
        if label == experiment:
            return JobFailed(f"{name} was just created: Airflow retries the task.")
        return JobFailedForGood(
            f"There is an endpoint {name} ('{endpoint.display_name}') that is not this "
            f"experiment's: its label {EXPERIMENT_LABEL} is {label or 'not set'}, not "
            f"{experiment}. Give it that label if the model is to be deployed there, or delete it, "
            "or rename the experiment."
        )


def _check_reach(found: Any, sent: Any) -> None:
    """Raise JobFailedForGood if an endpoint differs in a field that cannot be changed."""
    is_, wanted = _reach(found), _reach(sent)
    if is_ != wanted:
        raise JobFailedForGood(
            f"The endpoint {found.name} is {is_}; the run wants it {wanted}. That cannot be "
            "changed: either configure what it is, or undeploy its models, delete it, and clear "
            "this task to create it again (until then it answers no requests)."
        )


def _reach(endpoint: Any) -> str:
    """`in network lab, with key K`. Google may return a project's number instead of its id, so only
    the network's name is compared.
    """
    if endpoint.network:
        where = f"in network {endpoint.network.rpartition('/')[2]}"
    elif endpoint.private_service_connect_config.enable_private_service_connect:
        where = "behind Private Service Connect"
    else:
        where = "public"
    key = endpoint.encryption_spec.kms_key_name
    return f"{where}, with key {key}" if key else f"{where}, without a customer-managed key"


class DeployModelOperator(_ServingOperator, provider.DeployModelOperator):
    """Deploy a model version at an endpoint, and give it a first share of the traffic. Returns
    {"deployed_model": id}.

    A version that is already deployed is left unchanged, except that a lower share is raised. Waits
    for a deployment in progress. The first model of an endpoint gets all traffic. Waits deferred; a
    deployment cannot be cancelled: when the task is killed it goes on, and the next attempt, or
    RetreatOperator, continues from there.

    :param endpoint_id: name of the endpoint (templated).
    :param model: name of the version (templated): projects/.../models/ID@VERSION.
    :param deployed_model: the DeployedModel (templated), in protobuf's JSON form: machines,
        replicas, service account. `id` and `model` are filled in.
    :param share: minimum percent of the traffic.
    """

    doing = "deploy the model"
    template_fields: Sequence[str] = (*provider.DeployModelOperator.template_fields, "model")

    def __init__(self, *, model: str, share: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.model = model
        self.share = share

    def _advance(self, context: Any, done: str | None) -> Any:
        version = parse_version(self.model)
        ConsoleLink.remember(context, self.endpoint_id, version.name)
        for operation in unfinished(self._client, self.endpoint_id):
            return self._wait(context, operation, None)
        endpoint = get_endpoint(self._client, self.endpoint_id)
        deployed = find_deployed(endpoint, version)
        if deployed is not None:
            raise_share(self._client, self.endpoint_id, version, self.share, self.log)
            return {"deployed_model": deployed.id}
        if done:
            raise JobFailed(f"{version.name} is not listed yet: Airflow retries the task.")
        return self._deploy(context, endpoint, version)

    def _deploy(self, context: Any, endpoint: Any, version: VersionName) -> Any:
        message = self._message()
        message.model = version.name
        self._as_its_service_takes_it(message, version)
        message.id = deployment_id(version, job_labels(context["ti"], self.generation))
        request = {"endpoint": self.endpoint_id, "deployed_model": message}
        if not endpoint.deployed_models:
            # If another model is served, traffic is set after the deployment: a split given here
            # would undo changes made during the minutes that it takes.
            request["traffic_split"] = {"0": 100}
        try:
            operation = self._client.deploy_model(request=request, timeout=CALL_TIMEOUT_SECONDS)
        except exceptions.AlreadyExists as error:
            raise JobFailed(
                f"{version.name} is being deployed or undeployed: {error.message}. "
                "Airflow retries the task."
            ) from error
        except exceptions.NotFound as error:
            raise JobFailedForGood(
                f"Vertex AI finds no {version.name} to deploy: {error.message}\n"
                "It was deleted after this run registered it. Clear the task that registers the "
                "model, and those after it."
            ) from error
        machines = _machines(message)
        self.log.info("Deploying %s on %s, which takes minutes", version.name, machines)
        return self._wait(context, operation.operation, f"deploy {version.name}")

    def _as_its_service_takes_it(self, message: Any, version: VersionName) -> None:
        """Change the DeployedModel of a model that a service of Google's has trained."""
        client = self._hook(ModelServiceHook).get_model_service_client(self.region)
        model = find_version(client, version)
        if model is None or service_of(model) is None:
            return
        # Google's own server reads no bucket of the project.
        message.service_account = ""
        if list(model.supported_deployment_resources_types) == [_AUTOMATIC]:
            resources = message.dedicated_resources
            least, most = resources.min_replica_count, resources.max_replica_count
            message.automatic_resources = {"min_replica_count": least, "max_replica_count": most}

    def _message(self) -> Any:
        return parse_message(DeployedModel, self.deployed_model, "deployed model")

    def _advice(self, code: int) -> str:
        if code == code_pb2.RESOURCE_EXHAUSTED:
            return (
                f"Requested: {_machines(self._message())} in {self.region}. If this persists, "
                "use other or fewer machines, or have the quota raised."
            )
        return ""


class TrafficOperator(_ServingOperator, provider.UpdateEndpointOperator):
    """Raise a deployed version's share of an endpoint's traffic; the others keep their proportions.
    Returns {"traffic": {"projects/.../models/ID@VERSION": percent}}.

    A share is never lowered, so a repeated attempt, or one for an earlier step, changes nothing.

    :param endpoint_id: name of the endpoint (templated).
    :param model: name of the version (templated): projects/.../models/ID@VERSION.
    :param share: minimum percent of the traffic.
    """

    doing = "shift the traffic"
    template_fields: Sequence[str] = (*provider.UpdateEndpointOperator.template_fields, "model")

    def __init__(self, *, model: str, share: int, **kwargs: Any):
        # The split follows from the endpoint's state when the task runs.
        super().__init__(endpoint={}, update_mask={"paths": ["traffic_split"]}, **kwargs)
        self.model = model
        self.share = share

    def _advance(self, context: Any, done: str | None) -> dict[str, Any]:
        version = parse_version(self.model)
        ConsoleLink.remember(context, self.endpoint_id, version.name)
        endpoint = raise_share(self._client, self.endpoint_id, version, self.share, self.log)
        return {"traffic": traffic_of(endpoint)}


def raise_share(client: Any, name: str, version: Any, share: int, log: Any) -> Any:
    """Give a deployed version at least `share` percent of the traffic; returns the endpoint.

    JobFailedForGood when it is not deployed there.
    """

    def change(endpoint: Any) -> dict[str, int]:
        deployed = find_deployed(endpoint, version)
        if deployed is None:
            raise JobFailedForGood(
                f"{version.name} is not deployed at {name} ({describe_traffic(endpoint)}): it was "
                "undeployed after this run deployed it. Clear the task that deploys it, and what "
                "comes after it."
            )
        split = dict(endpoint.traffic_split)
        return raised(split, deployed_ids(endpoint), deployed.id, share)

    return set_traffic(client, name, change, log)


def traffic_of(endpoint: Any) -> dict[str, int]:
    """Percent of the traffic of each deployed version, by its name."""
    return {
        version_at(deployed).name: endpoint.traffic_split.get(deployed.id, 0)
        for deployed in endpoint.deployed_models
    }


_AUTOMATIC = Model.DeploymentResourcesType.AUTOMATIC_RESOURCES
"""That of a model whose machines Google chooses: AutoML's of images."""


def _machines(message: Any) -> str:
    """`1 to 3 n1-standard-2 with 1 NVIDIA_TESLA_T4 each`."""
    resources = message.automatic_resources or message.dedicated_resources
    least, most = resources.min_replica_count, resources.max_replica_count
    count = f"{least} to {most}" if most > least else str(least)
    if message.automatic_resources:
        return f"{count} machines that Google chooses"
    machine = resources.machine_spec
    return f"{count} {machine_text(machine)}{' each' if machine.accelerator_count else ''}"

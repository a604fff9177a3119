"""Cost, use and state of an endpoint: pure functions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from google.cloud.aiplatform_v1.types import AcceleratorType

from trellis.identity import EXPERIMENT_LABEL
from trellis.vertex.deployments import version_at
from trellis.workflow.endpoints.monitoring import Counted
from trellis.workflow.pricing import machines
from trellis.workflow.spec.machines import Machine


class State(StrEnum):
    """The need for an endpoint. Only IDLE ones may be undeployed."""

    EMPTY = "empty"
    """Nothing is deployed: it costs nothing."""
    IN_USE = "in use"
    IDLE = "idle"
    NEW = "new"
    """It, or what is deployed there, is younger than the days asked for."""
    CANARY = "canary"
    """More than one model gets requests: a deployment is in progress."""
    BUSY = "busy"
    """A deployment or undeployment is under way."""
    UNKNOWN = "unknown"
    """Cloud Monitoring does not say: it refused, or the endpoint is private."""
    OTHERS = "another group's"
    """It lacks labels of platform.yaml."""


@dataclass(frozen=True)
class Model:
    """A deployed model. version: ID@VERSION. share: percent of the requests. replicas: fewest and
    most. usd_per_day: with its fewest replicas; None if its machine has no price.
    """

    id: str
    version: str
    share: int
    machine: str
    replicas: tuple[int, int]
    usd_per_day: float | None


@dataclass(frozen=True)
class Endpoint:
    """An endpoint of Trellis's. last: the end of the hour in which it was last asked, or None.

    predictions: in the requested days; None if that is not known.
    """

    name: str
    experiment: str
    models: tuple[Model, ...]
    predictions: int | None
    last: datetime | None
    state: State

    @property
    def usd_per_day(self) -> float | None:
        """Daily cost with the fewest replicas; None if a model's machine has no price."""
        prices = [model.usd_per_day for model in self.models]
        return None if None in prices else sum(price for price in prices if price is not None)

    def to_json(self) -> dict[str, Any]:
        """Return the fields; USD rounded to cents."""
        models = [
            {
                "id": model.id,
                "version": model.version,
                "share": model.share,
                "machine": model.machine,
                "replicas": list(model.replicas),
            }
            for model in self.models
        ]
        return {
            "name": self.name,
            "experiment": self.experiment,
            "models": models,
            "usd_per_day": None if self.usd_per_day is None else round(self.usd_per_day, 2),
            "predictions": self.predictions,
            "last_asked": self.last.isoformat() if self.last else None,
            "state": str(self.state),
        }


def describe(
    endpoint: Any,
    counts: Iterable[Counted] | None,
    busy: bool,
    labels: Mapping[str, str],
    region: str,
    now: datetime,
    days: int,
) -> Endpoint:
    """Describe an Endpoint of aiplatform.

    counts: of the last days, None if they are not known. labels: the group's. busy: whether an
    operation on it is under way.
    """
    models = tuple(_model(endpoint, deployed, region) for deployed in endpoint.deployed_models)
    private = bool(
        endpoint.network or endpoint.private_service_connect_config.enable_private_service_connect
    )
    known = None if counts is None or private else [c for c in counts if _is_of(c, endpoint)]
    if not models:
        state = State.EMPTY
    elif any(endpoint.labels.get(name) != value for name, value in labels.items()):
        state = State.OTHERS
    elif busy:
        state = State.BUSY
    elif len(endpoint.traffic_split) > 1:
        state = State.CANARY
    elif known is None:
        state = State.UNKNOWN
    elif known:
        state = State.IN_USE
    elif _youngest(endpoint) > now - timedelta(days=days):
        state = State.NEW
    else:
        state = State.IDLE
    return Endpoint(
        endpoint.name,
        endpoint.labels.get(EXPERIMENT_LABEL, ""),
        models,
        None if known is None else sum(c.predictions for c in known),
        max((c.last for c in known or ()), default=None),
        state,
    )


def removal_order(endpoint: Endpoint) -> list[Model]:
    """Sort the models in the order in which Vertex AI undeploys them: the one with requests
    last.
    """
    return sorted(endpoint.models, key=lambda model: model.share)


def _is_of(counted: Counted, endpoint: Any) -> bool:
    """Return whether a series is the endpoint's, by any of its labels.

    Any will do: what looks like a request to the endpoint keeps it, rather than not.
    """
    return (
        counted.endpoint_id == endpoint.name.rpartition("/")[2]
        or counted.endpoint_display_name == endpoint.display_name
        or counted.deployed_model_id in {deployed.id for deployed in endpoint.deployed_models}
    )


def _youngest(endpoint: Any) -> datetime:
    return max([endpoint.create_time, *(d.create_time for d in endpoint.deployed_models)])


def _model(endpoint: Any, deployed: Any, region: str) -> Model:
    version = version_at(deployed)
    resources = deployed.dedicated_resources
    spec = resources.machine_spec
    gpus = spec.accelerator_count
    gpu = AcceleratorType(spec.accelerator_type).name if gpus else None
    replicas = (resources.min_replica_count, resources.max_replica_count)
    try:
        machine = Machine(type=spec.machine_type, gpu=gpu, gpus=gpus or 1)
        usd = 24 * replicas[0] * machines.table(region).usd(machine, "serving")
    except KeyError:
        usd = None
    return Model(
        deployed.id,
        f"{version.id}@{version.version}",
        endpoint.traffic_split.get(deployed.id, 0),
        spec.machine_type + (f" + {gpus} {gpu}" if gpu else ""),
        replicas,
        usd,
    )

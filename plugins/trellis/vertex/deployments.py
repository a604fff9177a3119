"""Reads the models deployed at an endpoint, with their shares of the requests.

`client`: an EndpointServiceClient. Raises google.api_core.exceptions unless stated otherwise.
"""

import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from google.api_core import exceptions

from trellis.identity import EXPERIMENT_LABEL, KEY_LABEL, ROUND_LABEL
from trellis.verdict import JobFailed, JobFailedForGood
from trellis.vertex.calls import CALL_TIMEOUT_SECONDS, REPEATABLE
from trellis.vertex.submission import reason
from trellis.vertex.versions import VersionName, parse_model

# How often to retry when someone else changed the endpoint between reading and updating it.
_CONFLICTS = 5
_CONFLICT_PAUSE_SECONDS = 1.0


def get_endpoint(client: Any, name: str) -> Any:
    """The endpoint; JobFailedForGood when it is gone."""
    try:
        return client.get_endpoint(name=name, **REPEATABLE)
    except exceptions.NotFound as error:
        raise JobFailedForGood(
            f"There is no endpoint {name}: it was deleted after this run found or created it. "
            "Clear the task that creates the endpoint, and those after it."
        ) from error


def find_endpoint(client: Any, parent: str, experiment: str, endpoint_id: str) -> Any | None:
    """The endpoint with an experiment's label: of several the one with our ID, else the oldest.

    parent: projects/P/locations/R. experiment: the label's value.
    """
    try:
        # First a get: the list may lag behind a creation.
        ours = client.get_endpoint(name=f"{parent}/endpoints/{endpoint_id}", **REPEATABLE)
        if ours.labels.get(EXPERIMENT_LABEL) == experiment:
            return ours
    except exceptions.NotFound:
        pass
    request = {"parent": parent, "filter": f"labels.{EXPERIMENT_LABEL}={experiment}"}
    found = list(client.list_endpoints(request=request, **REPEATABLE))
    return min(found, key=lambda endpoint: endpoint.create_time, default=None)


def version_at(deployed: Any) -> VersionName:
    """The version of the model that a DeployedModel serves."""
    parsed = parse_model(deployed.model)
    return parsed._replace(version=deployed.model_version_id or parsed.version)


def find_deployed(endpoint: Any, version: VersionName) -> Any | None:
    """The deployed model of the endpoint that serves the version, or None."""
    for deployed in endpoint.deployed_models:
        if version_at(deployed).is_the_same_as(version):
            return deployed
    return None


def deployed_ids(endpoint: Any) -> list[str]:
    """Ids of the deployed models, newest first."""
    newest_first = sorted(endpoint.deployed_models, key=lambda d: d.create_time, reverse=True)
    return [deployed.id for deployed in newest_first]


def deployment_id(version: VersionName, labels: Mapping[str, str]) -> str:
    """A DeployedModel.id for a version that a task deploys: ten digits, the same at every attempt.

    So Vertex AI refuses an attempt that does not see the previous one's deployment:
    ALREADY_EXISTS. Clearing the task gives another id, as one that was undeployed may stay taken.

    labels: `identity.job_labels` of the task.
    """
    text = "\n".join([labels[KEY_LABEL], labels[ROUND_LABEL], version.id, version.version])
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return str(10**9 + number % (9 * 10**9))


def set_traffic(client: Any, name: str, change: Callable[[Any], dict[str, int]], log: Any) -> Any:
    """Set the endpoint's traffic split to what `change` returns for it; returns the endpoint.

    No concurrent change is lost: the update carries the etag of the state it was computed from, and
    is computed again if that has changed.
    """
    for attempt in range(_CONFLICTS):
        endpoint = get_endpoint(client, name)
        split = change(endpoint)
        if split == dict(endpoint.traffic_split):
            log.info("Traffic stays: %s", describe_traffic(endpoint))
            return endpoint
        update = {"name": name, "traffic_split": split, "etag": endpoint.etag}
        try:
            changed = client.update_endpoint(
                request={"endpoint": update, "update_mask": {"paths": ["traffic_split"]}},
                timeout=CALL_TIMEOUT_SECONDS,
            )
        except (exceptions.Aborted, exceptions.FailedPrecondition) as error:
            conflict = error
            log.info("The endpoint was changed meanwhile, reading it again: %s", reason(error))
            time.sleep(_CONFLICT_PAUSE_SECONDS * (attempt + 1))
            continue
        log.info("Traffic: %s -> %s", describe_traffic(endpoint), describe_traffic(changed))
        return changed
    raise JobFailed(
        f"The endpoint {name} was changed {_CONFLICTS} times while this task set its traffic: "
        f"{reason(conflict)}. Airflow retries the task; find out who else changes it."
    ) from conflict


def describe_traffic(endpoint: Any) -> str:
    """`digits@2 90%, digits@3 10%`: the deployed versions and their shares."""
    parts = []
    for deployed in sorted(endpoint.deployed_models, key=lambda d: d.create_time):
        version = version_at(deployed)
        share = endpoint.traffic_split.get(deployed.id, 0)
        parts.append(f"{version.id}@{version.version} {share}%")
    return ", ".join(parts) or "nothing deployed"

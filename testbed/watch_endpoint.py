"""Looks at an endpoint, again and again, until it gets SIGTERM: is its traffic right at any moment?

    python watch_endpoint.py PROJECT REGION ENDPOINT

Prints a JSON line whenever what it sees has changed, and at the end the number of looks:

    {"shares": {"2": 90, "3": 10}, "deployed": ["2", "3"], "wrong": null}
    {"looks": 712}

The models are named by their versions. wrong: the shares do not sum to 100 though models are
deployed, or name a model that is not. While the server is down there is nothing to see.

A program of its own, because Google's client reads its environment when it is imported.
"""

import json
import signal
import sys
import time

from google.api_core import exceptions
from google.cloud import aiplatform_v1 as vertex

PAUSE = 0.05
"""Seconds between two looks."""


def main(project: str, region: str, endpoint: str) -> None:
    client = vertex.EndpointServiceClient(
        client_options={"api_endpoint": f"{region}-aiplatform.googleapis.com"}
    )
    name = f"projects/{project}/locations/{region}/endpoints/{endpoint}"
    told_to_end = []
    signal.signal(signal.SIGTERM, lambda *_: told_to_end.append(True))
    looks, before = 0, None
    while not told_to_end:
        time.sleep(PAUSE)
        try:
            now = seen(client.get_endpoint(name=name, retry=None, timeout=5))
        except (exceptions.NotFound, exceptions.ServerError, exceptions.RetryError):
            continue
        looks += 1
        if now != before:
            print(json.dumps(now), flush=True)
            before = now
    print(json.dumps({"looks": looks}), flush=True)


def seen(endpoint: vertex.Endpoint) -> dict:
    """Look once; return the state, and what is wrong with it."""
    versions = {model.id: model.model_version_id for model in endpoint.deployed_models}
    split = {id_: share for id_, share in endpoint.traffic_split.items() if share}
    wrong = None
    if not split.keys() <= versions.keys():
        wrong = f"traffic to what is not deployed: {split}"
    elif split and sum(split.values()) != 100:
        wrong = f"the shares sum to {sum(split.values())}"
    elif versions and not split:
        wrong = "models are deployed, and no traffic goes to them"
    return {
        "shares": {versions.get(id_, id_): share for id_, share in sorted(split.items())},
        "deployed": sorted(versions.values()),
        "wrong": wrong,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])

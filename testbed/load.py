"""A bounded load on an endpoint: clients that ask one example after the other.

    python load.py ENDPOINT REQUEST.json SECONDS

ENDPOINT is a resource name, REQUEST.json has {"instances": [...]}. It ends after SECONDS, or sooner
by SIGTERM, and prints what came of it:

    {"requests": 5012, "failed": 0, "errors": [], "seconds": 60.1, "p50_ms": 5.1, "p99_ms": 31.7,
     "by_version": {"1": 3012, "2": 2000}}

No request is repeated: one that fails has failed. by_version: who answered.
"""

import collections
import json
import signal
import statistics
import sys
import threading
import time

from google.cloud import aiplatform_v1 as vertex
from google.protobuf import json_format, struct_pb2

CLIENTS = 4
PAUSE = 0.02
"""Seconds between an answer and the client's next request: a load, no contest for the cores."""

ERRORS = 5
"""Messages that are kept."""


class Load:
    """Observations of all clients."""

    def __init__(self, endpoint: str, instances: list):
        region = endpoint.split("/")[3]
        self._client = vertex.PredictionServiceClient(
            client_options={"api_endpoint": f"{region}-aiplatform.googleapis.com"}
        )
        self._endpoint = endpoint
        self._instances = [json_format.ParseDict(i, struct_pb2.Value()) for i in instances]
        self.over = threading.Event()
        self.milliseconds: list[float] = []
        self.by_version: collections.Counter[str] = collections.Counter()
        self.errors: list[str] = []

    def ask(self, number: int) -> None:
        """One client, until all of it is over."""
        while not self.over.wait(PAUSE):
            number += 1
            instance = self._instances[number % len(self._instances)]
            began = time.perf_counter()
            try:
                answer = self._client.predict(
                    endpoint=self._endpoint, instances=[instance], retry=None
                )
                self.by_version[answer.model_version_id] += 1
            except Exception as error:  # whatever it is, this request got no answer
                self.errors.append(f"{type(error).__name__}: {error}")
            self.milliseconds.append((time.perf_counter() - began) * 1000)


def main(endpoint: str, request: str, seconds: str) -> None:
    # Blocked in all threads, of Google's client too, before there are any: with a handler instead,
    # SIGTERM was lost now and then on a busy machine, as this thread slept on.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    with open(request) as file:
        load = Load(endpoint, json.load(file)["instances"])
    clients = [threading.Thread(target=load.ask, args=(n,)) for n in range(CLIENTS)]
    began = time.monotonic()
    for client in clients:
        client.start()
    signal.sigtimedwait({signal.SIGTERM}, float(seconds))
    load.over.set()
    for client in clients:
        client.join()
    percentiles = statistics.quantiles(load.milliseconds, n=100, method="inclusive")
    told = {
        "requests": len(load.milliseconds),
        "failed": len(load.errors),
        "errors": load.errors[:ERRORS],
        "seconds": round(time.monotonic() - began, 1),
        "p50_ms": round(percentiles[49], 1),
        "p99_ms": round(percentiles[98], 1),
        "by_version": dict(load.by_version),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Manages the serving processes of all deployed models.

- A process that ends is restarted, at once the first time, then after 1, 2, 4... up to 30 s.
  While a model is being deployed, a process that exits by itself fails the deployment.
- A process that fails its health checks (health.py) is ended and restarted.
- The number of processes follows the load (scaling.py).
- A replica that is removed gets no new requests, and SIGTERM after its current requests, or after
  `DRAIN` seconds.

A process is stored before it starts, and processes outlive the server (attempts.py), so that a
server that starts after kill -9 continues with the processes of the previous one.

There are two locks: the state's for all that is stored, which the fleet's thread holds while it
checks the deployments; and the fleet's own for transient state, so that a prediction never waits
for the disk. Code that needs both takes the state's first.
"""

from __future__ import annotations

import functools
import logging
import random
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from local_gcp.home import Home
from local_gcp.jobs import recovery
from local_gcp.jobs.attempts import Exit
from local_gcp.jobs.machine import Machine
from local_gcp.state import State
from local_gcp.vertex.endpoints import health, scaling
from local_gcp.vertex.endpoints.deployment import Deployment, Replica
from local_gcp.vertex.endpoints.processes import Processes

log = logging.getLogger(__name__)

TICK = 0.1
DRAIN = 75.0
"""Seconds; longer than a prediction may take."""
_LONGEST_PAUSE = 30.0
_KILLS_WHILE_DEPLOYING = 3
_ADOPTED_WITHIN = 2.0
"""Seconds until which a process of the previous server must be healthy."""

Settled = Callable[[Deployment], None]
"""Called by the fleet's thread, which holds the state's lock, at the end of a deployment's
operation: it is serving, or none of its processes is left. `error`: the reason if it failed."""


class Fleet:
    """See the module."""

    def __init__(
        self, home: Home, state: State, environment: Mapping[str, str], machine: Machine
    ) -> None:
        self.machine = machine
        self._state, self._processes = state, Processes(home, environment, machine)
        self._table = state.table("deployments", dict)
        self._deployments: dict[str, Deployment] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._checks = health.Checks()
        self._thread: threading.Thread | None = None
        self._settled: Settled = lambda deployment: None
        self._stopping = False

    def start(self, settled: Settled) -> None:
        """Find all processes again; those that are healthy take requests from now on."""
        self._settled = settled
        for key, record in self._table.list():
            self._deployments[key] = Deployment.from_json(record)
        self._adopt()
        self._thread = threading.Thread(target=self._loop, name="fleet", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End all processes; the deployments stay, and are served again after the next start."""
        self._stopping = True
        self._wake.set()
        if self._thread:
            self._thread.join()
        self._checks.stop()

    def get(self, key: str) -> Deployment | None:
        return self._deployments.get(key)

    def of_endpoint(self, endpoint: str) -> list[Deployment]:
        """The endpoint's deployments, in the order of their creation."""
        return [d for d in list(self._deployments.values()) if d.endpoint == endpoint]

    def save(self, deployment: Deployment) -> None:
        """Store it; inside the caller's transaction, which holds the state's lock."""
        self._table.put(deployment.key, deployment.to_json())

    def watch(self, deployment: Deployment) -> None:
        """Start its processes; after the transaction in which it was saved."""
        self._deployments[deployment.key] = deployment
        self._wake.set()

    def undeploy(self, deployment: Deployment, operation: str) -> None:
        """Store the removal, inside the caller's transaction. It takes requests until the caller
        releases the state's lock: by then they must be routed elsewhere.
        """
        deployment.state, deployment.operation = "undeploying", operation
        self.save(deployment)
        self._wake.set()

    def lease(self, key: str, tried: Collection[Replica] = ()) -> Replica | None:
        """The ready replica with the fewest requests, which counts one more; `release` it. None if
        there is none except those `tried`.
        """
        with self._lock:
            deployment = self._deployments.get(key)
            ready = [r for r in deployment.ready if r not in tried] if deployment else []
            if not ready or self._stopping:
                return None
            fewest = min(replica.in_flight for replica in ready)
            replica = random.choice([r for r in ready if r.in_flight == fewest])
            replica.in_flight += 1
            return replica

    def release(self, replica: Replica, gone: bool = False) -> None:
        """Return a leased replica. If it seems to be `gone`, it gets no requests before its next
        successful health check.
        """
        with self._lock:
            replica.in_flight -= 1
            if gone:
                replica.ready, replica.next_check = False, 0.0
        if gone or replica.leaving:
            self._wake.set()

    def status(self, deployment: Deployment) -> list[dict[str, Any]]:
        """Return the replicas in the JSON of `local-gcp status`."""
        return [self._processes.describe(deployment, r) for r in list(deployment.replicas)]

    def _adopt(self) -> None:
        def ask(deployment: Deployment, replica: Replica) -> None:
            route = deployment.launch.health
            replica.launched = time.time()
            replica.ready = health.healthy(replica.port, route, _ADOPTED_WITHIN)
            replica.was_ready = replica.ready or deployment.state == "serving"

        running = [
            (deployment, replica)
            for deployment in self._deployments.values()
            for replica in deployment.replicas
            if not replica.leaving and self._processes.runs(deployment, replica)
        ]
        with ThreadPoolExecutor(16) as threads:
            list(threads.map(lambda pair: ask(*pair), running))

    def _loop(self) -> None:
        while True:
            self._wake.clear()
            with self._state.lock:
                deployments = list(self._deployments.values())
                for deployment in deployments:
                    try:
                        self._step(deployment, time.time())
                    except Exception:
                        log.exception("deployment %s", deployment.key)
                if self._stopping and not any(
                    self._processes.runs(d, r) for d in deployments for r in d.replicas
                ):
                    return
            self._wake.wait(TICK if deployments else None)

    def _step(self, deployment: Deployment, now: float) -> None:
        for replica in list(deployment.replicas):
            self._advance(deployment, replica, now)
        if self._stopping:
            return
        if deployment.state in ("failing", "undeploying"):
            self._leave(deployment, deployment.replicas)
            if not deployment.replicas:
                with self._state.transaction():
                    self._table.delete(deployment.key)
                    self._settled(deployment)
                del self._deployments[deployment.key]
            return
        if deployment.operation:
            self._progress(deployment, now)
        if deployment.state in ("deploying", "serving"):
            self._scale(deployment, now)

    def _progress(self, deployment: Deployment, now: float) -> None:
        """Advance a deployment, or a change of its numbers of replicas: serving, or failed."""
        if len(deployment.ready) >= deployment.required:
            deployment.state = "serving"
            self._settle(deployment)
        elif now - deployment.began > deployment.launch.timeout:
            why = (
                "Model server never became ready. Please validate that your model file or "
                "container configuration are valid."
            )
            replica = deployment.replicas[-1] if deployment.replicas else None
            self._fail(deployment, why, replica)

    def _settle(self, deployment: Deployment) -> None:
        with self._state.transaction():
            self._settled(deployment)
            deployment.operation = deployment.error = None
            self.save(deployment)
        log.info("%s: %s", deployment.key, deployment.state)

    def _fail(self, deployment: Deployment, why: str, replica: Replica | None) -> None:
        if replica:
            why = f"{why} {self._processes.last_words(deployment, replica)}"
        deployment.error = why
        if deployment.state == "serving":
            self._settle(deployment)
            return
        deployment.state = "failing"
        self.save(deployment)

    def _leave(self, deployment: Deployment, replicas: Collection[Replica]) -> None:
        with self._lock:
            for replica in replicas:
                replica.leaving, replica.left = True, replica.left or time.time()

    def _advance(self, deployment: Deployment, replica: Replica, now: float) -> None:
        attempt = self._processes.attempt(deployment, replica)
        if not attempt.was_started:
            if replica.leaving:
                self._remove(deployment, replica)
            elif now >= replica.not_before and not self._stopping:
                replica.launched = now
                self._processes.launch(deployment, replica)
            return
        ended = attempt.poll()
        if ended:
            with self._lock:
                replica.ready = False
            if replica.leaving:
                self._remove(deployment, replica)
            elif not self._stopping:
                self._died(deployment, replica, ended, now)
        elif not replica.stopping and self._must_end(deployment, replica, now):
            replica.stopping = True
            attempt.stop()
        elif not replica.leaving:
            self._check(deployment, replica, now)

    def _must_end(self, deployment: Deployment, replica: Replica, now: float) -> bool:
        if self._stopping:
            return True
        if replica.leaving:
            return replica.in_flight == 0 or now - replica.left > DRAIN
        if replica.failed_checks >= health.FAILURES and replica.was_ready:
            log.warning("%s: replica %d is not healthy", deployment.key, replica.number)
            return True
        late = now - (replica.launched or now) > deployment.launch.timeout
        return late and not replica.was_ready

    def _remove(self, deployment: Deployment, replica: Replica) -> None:
        with self._lock:
            deployment.replicas.remove(replica)
        self.save(deployment)

    def _died(self, deployment: Deployment, replica: Replica, ended: Exit, now: float) -> None:
        log.warning("%s: replica %d %s", deployment.key, replica.number, ended)
        if not ended.stopped:
            replica.deaths += 1
            if deployment.state == "deploying" and (
                not _from_outside(ended) or replica.deaths > _KILLS_WHILE_DEPLOYING
            ):
                why = f"Model server exited unexpectedly: it {ended}."
                self._fail(deployment, why, replica)
                return
        pause = 2.0 ** (replica.deaths - 2) if replica.deaths > 1 else 0.0
        self._processes.note(deployment, replica, f"the one before {ended}")
        with self._lock:
            fresh = Replica(replica.number, replica.attempt + 1, deaths=replica.deaths)
            fresh.not_before = now + min(_LONGEST_PAUSE, pause)
            # A new object: pending requests and checks belong to the old process.
            deployment.replicas[deployment.replicas.index(replica)] = fresh
        self._prepare(deployment, fresh)
        self.save(deployment)

    def _scale(self, deployment: Deployment, now: float) -> None:
        with self._lock:
            in_flight = sum(replica.in_flight for replica in deployment.replicas)
        there = deployment.staying
        wanted = scaling.wanted(deployment, in_flight, TICK, now)
        if wanted == len(there):
            return
        for _ in range(wanted - len(there)):
            with self._lock:
                replica = deployment.add_replica()
            self._prepare(deployment, replica)
        if wanted < len(there):
            self._leave(deployment, [min(there, key=lambda r: (r.ready, -r.number))])
        self.save(deployment)
        log.info("%s: %d replicas", deployment.key, wanted)

    def _prepare(self, deployment: Deployment, replica: Replica) -> None:
        taken = {r.port for d in self._deployments.values() for r in d.replicas}
        self._processes.prepare(deployment, replica, taken)

    def _check(self, deployment: Deployment, replica: Replica, now: float) -> None:
        if not replica.checking and now >= replica.next_check:
            replica.checking = True
            then = functools.partial(self._checked, replica)
            self._checks.ask(replica.port, deployment.launch.health, then)

    def _checked(self, replica: Replica, healthy: bool) -> None:
        with self._lock:
            pause = health.EVERY if healthy or replica.was_ready else health.WHILE_STARTING
            replica.checking, replica.next_check = False, time.time() + pause
            replica.failed_checks = 0 if healthy else replica.failed_checks + 1
            if healthy and replica.ready:  # healthy twice: no failure to back off from
                replica.deaths = 0
            new = healthy and not replica.ready
            if healthy:
                replica.ready = replica.was_ready = True
            elif replica.failed_checks >= health.FAILURES:
                replica.ready = False
        if new:
            self._wake.set()


def _from_outside(ended: Exit) -> bool:
    """Killed, by a signal that a program does not send itself when it crashes, or vanished."""
    return ended.lost or (ended.signal is not None and ended.signal not in recovery.CRASHES)

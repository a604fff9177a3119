"""The few calls of Airflow's REST API (v2) that a demo run needs."""

import datetime
import graphlib
import time
from typing import Any

import httpx


class Airflow:
    """One login to one Airflow.

    Raises `httpx.HTTPStatusError` with the server's message when a call is refused.
    """

    def __init__(self, base_url: str, user: str, password: str):
        self.base_url = base_url
        self._http = httpx.Client(base_url=base_url, timeout=30, trust_env=False)
        self._login = {"username": user, "password": password}

    def healthy(self) -> bool:
        """Return whether scheduler, triggerer, dag-processor and database all report healthy."""
        try:
            parts = self._http.get("/api/v2/monitor/health").raise_for_status().json()
        except httpx.HTTPError:
            return False
        return all(parts[p] and parts[p]["status"] == "healthy" for p in parts)

    def dag(self, dag_id: str) -> dict | None:
        """The DAG, or None while the dag-processor has not parsed it, or not again after its file
        was away for a while.
        """
        found = self._get(f"/api/v2/dags/{dag_id}", accept=404)
        return None if found is None or found["is_stale"] else found

    def import_errors(self, since: datetime.datetime) -> list[dict]:
        """List errors of files parsed since then: errors of an earlier start may have been
        fixed.
        """
        errors = self._get("/api/v2/importErrors")["import_errors"]
        return [e for e in errors if datetime.datetime.fromisoformat(e["timestamp"]) >= since]

    def unpause(self, dag_id: str) -> None:
        self._call("PATCH", f"/api/v2/dags/{dag_id}", json={"is_paused": False})

    def trigger(self, dag_id: str, run_id: str, params: dict | None = None) -> None:
        """Trigger a run. An existing run with this id is left unchanged."""
        body = {"dag_run_id": run_id, "logical_date": None, "conf": params or {}}
        self._call("POST", f"/api/v2/dags/{dag_id}/dagRuns", json=body, accept=409)

    def task_order(self, dag_id: str) -> list[str]:
        """The DAG's task ids in topological order."""
        tasks = self._get(f"/api/v2/dags/{dag_id}/tasks")["tasks"]
        followers = {t["task_id"]: t["downstream_task_ids"] or [] for t in tasks}
        waits_for = {task: {t for t in followers if task in followers[t]} for task in followers}
        return list(graphlib.TopologicalSorter(waits_for).static_order())

    def unfinished(self, dag_id: str) -> list[str]:
        """Ids of the DAG's runs that go on or wait."""
        path = f"/api/v2/dags/{dag_id}/dagRuns?state=queued&state=running"
        return [run["dag_run_id"] for run in self._get(path)["dag_runs"]]

    def run(self, dag_id: str, run_id: str) -> dict:
        return self._get(f"/api/v2/dags/{dag_id}/dagRuns/{run_id}")

    def task_instances(self, dag_id: str, run_id: str) -> list[dict]:
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances"
        found: list[dict] = []
        while True:
            # An answer has 100 at most ([api] maximum_page_limit).
            page = self._get(f"{path}?limit=100&offset={len(found)}")
            found += page["task_instances"]
            if not page["task_instances"] or len(found) >= page["total_entries"]:
                return found

    def why_failed(self, dag_id: str, task: dict) -> str:
        """The error that ended a failed task instance, from its log; empty if there is none."""
        path = (
            f"/api/v2/dags/{dag_id}/dagRuns/{task['dag_run_id']}/taskInstances/{task['task_id']}"
            f"/logs/{task['try_number']}?map_index={task['map_index']}"
        )
        errors = [
            detail["exc_value"]
            for line in self._get(path)["content"]
            for detail in line.get("error_detail") or []
        ]
        return errors[-1] if errors else ""

    def _get(self, path: str, accept: int | None = None) -> Any:
        return self._call("GET", path, accept=accept)

    def _call(
        self, verb: str, path: str, json: dict | None = None, accept: int | None = None
    ) -> Any:
        """The answer's JSON, or None for the error status that the caller accepts."""
        answer = self._send(verb, path, json)
        if answer.status_code == accept:
            return None
        if answer.is_error:
            raise httpx.HTTPStatusError(
                f"{verb} {path}: {answer.status_code} {answer.text}",
                request=answer.request,
                response=answer,
            )
        return answer.json()

    def _send(self, verb: str, path: str, json: dict | None) -> httpx.Response:
        """Every call is safe to repeat, so retry while the api-server restarts."""
        for seconds_left in range(60, -1, -1):
            try:
                if "Authorization" not in self._http.headers:
                    token = self._http.post("/auth/token", json=self._login).raise_for_status()
                    self._http.headers["Authorization"] = f"Bearer {token.json()['access_token']}"
                return self._http.request(verb, path, json=json)
            except httpx.TransportError:
                if not seconds_left:
                    raise
                time.sleep(1)
        raise AssertionError("unreachable")

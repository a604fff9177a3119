"""Calls of libraries that Airflow's tests make cheaper: what a test sees of them stays the same.

Each replaces a part of a library for as long as the process lives. The reason is always the CPU
time of `make test`; the figures were measured there.
"""

import functools
import json
import os
import sys
import urllib.request
from typing import Any

import requests
from jsonschema import Draft202012Validator


def check_schemas_once() -> None:
    """The schema of a parameter of the trigger form is itself checked once, and not whenever its
    value is: a task of a DAG with 40 parameters begins with 40 ms of that.
    """
    checks = Draft202012Validator.check_schema
    good = set()

    def check_schema(schema: Any, *arguments: Any, **named: Any) -> None:
        text = json.dumps(schema, default=repr)
        if text not in good:
            checks(schema, *arguments, **named)
            good.add(text)

    Draft202012Validator.check_schema = check_schema


def make_the_newest_task_api_alone() -> None:
    """The API that tasks call in this process has its newest version alone: to make the routes of
    the eight before it takes 5 s of processor.
    """
    from airflow.api_fastapi.execution_api import versions
    from airflow.api_fastapi.execution_api.routes import execution_api_router
    from cadwyn import HeadVersion, Version, VersionBundle
    from cadwyn.route_generation import _DELETED_ROUTE_TAG

    newest = versions.bundle.versions[0].value
    versions.bundle = VersionBundle(HeadVersion(), Version(newest))
    kept = [each for each in execution_api_router.routes if _DELETED_ROUTE_TAG not in each.tags]
    execution_api_router.routes[:] = kept


def read_dependencies_once() -> None:
    """What a function of Airflow's API for tasks depends on is read from its signature once, and
    not at each request, as FastAPI does where a dependency is replaced, such as the token:
    a quarter of what a run computes.
    """
    from fastapi.dependencies import utils

    read = utils.get_dependant
    known: dict[Any, Any] = {}

    def get_dependant(**named: Any) -> Any:
        if sys._getframe(1).f_code is not utils.solve_dependencies.__code__:
            return read(**named)
        # What is known keeps its function, whose id is then no other's.
        key = id(named["call"]), *(str(each) for each in named.values())
        if key not in known:
            known[key] = read(**named)
        return known[key]

    utils.get_dependant = get_dependant


def call_where_it_is_awaited() -> None:
    """Airflow's API for tasks calls its functions in the thread that serves the request: FastAPI
    gives each of them, and of their dependencies, to another thread, some 25 times a request.
    """
    import anyio.to_thread

    async def run_sync(function: Any, *arguments: Any, **_how: Any) -> Any:
        return function(*arguments)

    anyio.to_thread.run_sync = run_sync


def leave_commits_unsynced() -> None:
    """No commit waits for the disk: a run has hundreds, and its database ends with the tests."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    def unsynced(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA synchronous=OFF")
        cursor.close()

    event.listen(Engine, "connect", unsynced)


def share_credentials() -> None:
    """Clients take the key and the token of an earlier one, as a task makes several: each would
    parse the key, and ask for a token over a connection of its own.
    """
    from google.auth.crypt import RSASigner
    from google.oauth2.service_account import Credentials

    RSASigner.from_string = functools.cache(RSASigner.from_string)
    ask = Credentials._perform_refresh_token
    given: dict[Any, Any] = {}

    def refresh(credentials: Any, request: Any) -> None:
        key = credentials.service_account_email, *(credentials.scopes or ())
        credentials.token, credentials.expiry = given.get(key, (None, None))
        if not credentials.valid:
            ask(credentials, request)
            given[key] = credentials.token, credentials.expiry

    Credentials._perform_refresh_token = refresh
    # Each would also ask, in a thread of its own, for the regions that it is bound to.
    Credentials._is_regional_access_boundary_lookup_required = lambda _credentials: False


def read_proxies_from_their_names() -> None:
    """For every request, requests would look for them in the whole environment, twice."""
    named = {scheme: f"{scheme}_proxy" for scheme in ("http", "https", "no")}
    urllib.request.getproxies_environment = requests.utils.getproxies = lambda: {
        scheme: os.environ[name] for scheme, name in named.items() if name in os.environ
    }

"""The entry point by which Airflow loads Trellis: the distribution's, or trellis_plugin.py.

Every process of Airflow imports this module. The pages of all runs are imported by the api-server
alone, at the first request.
"""

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from trellis.schedules import CronUntilTimetable


async def results(scope: Any, receive: Any, send: Any) -> None:
    """The pages of all runs, an ASGI application."""
    from trellis.web.app import app

    await app(scope, receive, send)


class Approvers:
    """Middleware of the api-server: it enters a user who answers a run's question by a role among
    those who may answer. Airflow itself compares users' ids alone.
    """

    def __init__(self, app: Any):
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope.get("method") == "PATCH" and scope["path"].endswith("/hitlDetails"):
            from trellis.web import approvers

            await approvers.enter(scope)
        await self._app(scope, receive, send)


class TrellisPlugin(AirflowPlugin):
    """Registers the timetable, without which no scheduler can load a DAG that has an `until`, the
    pages of all runs, and who may answer a run's question.
    """

    name = "trellis"
    timetables = [CronUntilTimetable]  # noqa: RUF012
    fastapi_apps = [{"app": results, "url_prefix": "/trellis", "name": "Trellis"}]  # noqa: RUF012
    fastapi_root_middlewares = [  # noqa: RUF012
        {"middleware": Approvers, "args": [], "kwargs": {}, "name": "Trellis: approvers"}
    ]
    # In a window of its own: within Airflow's frame, links to Google Cloud and to Airflow's own
    # pages would be dead. Relative, since Airflow may not be at its host's root.
    external_views = [  # noqa: RUF012
        {"name": "Trellis", "href": "trellis/", "destination": "nav", "category": "browse"}
    ]

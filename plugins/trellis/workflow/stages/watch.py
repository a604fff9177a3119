"""Looks whether what an experiment waits for has changed, and emits one event for each change."""

from collections.abc import Callable
from typing import Any

from airflow.sdk import Asset, BaseOperator
from airflow.sdk.exceptions import AirflowSkipException


class WatchOperator(BaseOperator):
    """Emits an event of an Asset if its version is another than that of the last event.

    The last event is the memory: Airflow stores the event together with this task's success, so
    a look that dies in between is repeated, and a change is reported exactly once. Skipped
    if nothing has changed, or nothing is there yet.

    :param asset: of which the event is.
    :param look: returns the version now, fit for JSON; None if there is none.
    """

    def __init__(self, *, asset: Asset, look: Callable[[], Any], **kwargs: Any):
        super().__init__(inlets=[asset], outlets=[asset], **kwargs)
        self.asset = asset
        self.look = look

    def execute(self, context: Any) -> Any:
        """See BaseOperator. Returns the new version."""
        version = self.look()
        if version is None:
            raise AirflowSkipException(f"There is no {self.asset.name} yet")
        last = list(context["inlet_events"][self.asset].ascending(False).limit(1))
        if last and last[0].extra.get("version") == version:
            raise AirflowSkipException(f"{self.asset.name} is that of {last[0].timestamp}")
        context["outlet_events"][self.asset].extra = {"version": version}
        self.log.info("%s is new: %s", self.asset.name, version)
        return version

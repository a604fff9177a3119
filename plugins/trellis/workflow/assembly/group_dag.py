"""A DAG with what all DAGs of a group have."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG

from trellis.workflow.assembly.access import access_control
from trellis.workflow.assembly.default_args import arguments
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.schedule import MANUAL

# A schedule needs a first day. `catchup` is off, so an old one makes no run but the latest.
_FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)


def group_dag(
    platform: Platform,
    name: str,
    alert: Callable[[Any], None],
    *,
    tags: Iterable[str] = (),
    owners: Iterable[str] = (),
    owner: str | None = None,
    schedule: Any = MANUAL,
    **others: Any,
) -> DAG:
    """A DAG without tasks. alert: Airflow's callback for a task that failed. owners: of all
    experiments that the DAG works for. owner: of its tasks; None: all of those, or Trellis.
    """
    owners = sorted(set(owners))
    return DAG(
        dag_id=platform.dag_id(name),
        schedule=None if schedule == MANUAL else schedule,
        start_date=_FIRST_DAY,
        catchup=False,
        # Where a DAG is built only to see whether it can be, Airflow must not take it.
        auto_register=False,
        tags=["research", *tags],
        access_control=access_control(platform, owners),
        default_args={
            "owner": owner or ", ".join(owners) or "trellis",
            **arguments(platform, alert),
        },
        **others,
    )

"""Slots of the group's Airflow pools, which tasks take while their jobs run."""

from typing import Any


def slots(pool: str | None, machines: int) -> dict[str, Any]:
    """Arguments of an operator whose job runs on that many machines; none without a pool."""
    return {"pool": pool, "pool_slots": machines} if pool else {}

"""Endpoint.traffic_split: the share of requests of each deployed model, in percent."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from local_gcp.field_errors import invalid_field

NEW = "0"
"""Key of the new model in the traffic split of a DeployModel."""


def check(split: Mapping[str, int], deployed: Collection[str], field: str) -> None:
    """Refuse a split whose sum is not 100, or with ids that are not in `deployed`.

    An empty one is allowed: the endpoint then takes no traffic (Endpoint.traffic_split).
    """
    if not split:
        return
    for model, percent in split.items():
        if model not in deployed:
            known = ", ".join(sorted(deployed)) or "none"
            raise invalid_field(
                field, f"{model!r} is not the ID of a DeployedModel of this Endpoint ({known})."
            )
        if not 0 <= percent <= 100:
            raise invalid_field(field, f"The traffic of {model!r} is {percent}, not 0 to 100.")
    total = sum(split.values())
    if total != 100:
        raise invalid_field(
            field, f"The traffic percentage values must add up to 100, they add up to {total}."
        )


def choose(split: Mapping[str, int], place: float) -> str | None:
    """The id whose share `place`, uniform in [0, 1), falls into; None when the split is empty.

    The same place always gives the same id, independent of the order of the split.
    """
    left = place * 100
    for model in sorted(split):
        left -= split[model]
        if left < 0:
            return model
    return None

"""The share of the requests of each deployed model of an endpoint: arithmetic of percents.

A split maps ids of deployed models to whole percents, as Endpoint.traffic_split does; a missing id
gets none. Every split returned sums to 100, names only deployed models, and has no zeros; it is
empty only if nothing is deployed.
"""

from collections.abc import Mapping, Sequence


def normalized(split: Mapping[str, int], deployed: Sequence[str]) -> dict[str, int]:
    """The split over the deployed models: shares of undeployed ones go to the others.

    Where no deployed model has a share, the first of `deployed` gets all.
    """
    left = {id_: split.get(id_, 0) for id_ in deployed}
    if not any(left.values()):
        return {deployed[0]: 100} if deployed else {}
    return _scaled(left, 100)


def raised(
    split: Mapping[str, int], deployed: Sequence[str], id_: str, share: int
) -> dict[str, int]:
    """The split in which model `id_` has at least `share` percent; the others keep proportions.

    A share is never lowered: a model that has more keeps it. Where no other model has a share, it
    gets all. Raises ValueError when `id_` is not deployed, or `share` is no percentage.
    """
    if id_ not in deployed:
        raise ValueError(f"Model {id_} is not deployed (deployed: {', '.join(deployed) or 'none'})")
    if not 0 <= share <= 100:
        raise ValueError(f"A share of {share} is not between 0 and 100 percent")
    before = normalized(split, [id_, *(other for other in deployed if other != id_)])
    if before.get(id_, 0) >= share:
        return before
    others = {other: percent for other, percent in before.items() if other != id_}
    return _without_zeros({id_: share, **_scaled(others, 100 - share)})


def withdrawn(
    split: Mapping[str, int], deployed: Sequence[str], leaving: str, heir: str | None
) -> dict[str, int]:
    """The split after model `leaving` has gone: all to `heir`.

    Without a deployed heir the others share what is left in proportion; where none of them has a
    share, the first of `deployed` gets all.
    """
    staying = [id_ for id_ in deployed if id_ != leaving]
    if heir in staying:
        return {heir: 100}
    return normalized(split, staying)


def _scaled(shares: Mapping[str, int], total: int) -> dict[str, int]:
    """Whole numbers that sum to `total` in the proportions of `shares`, each to within one.

    Largest remainder method; ties go to the smallest id, so that the result is deterministic.
    https://en.wikipedia.org/wiki/Quota_method
    """
    whole = sum(shares.values())
    parts = {id_: divmod(share * total, whole) for id_, share in shares.items()}
    scaled = {id_: quotient for id_, (quotient, _) in parts.items()}
    by_remainder = sorted(parts, key=lambda id_: (-parts[id_][1], id_))
    for id_ in by_remainder[: total - sum(scaled.values())]:
        scaled[id_] += 1
    return _without_zeros(scaled)


def _without_zeros(split: Mapping[str, int]) -> dict[str, int]:
    return {id_: percent for id_, percent in split.items() if percent}

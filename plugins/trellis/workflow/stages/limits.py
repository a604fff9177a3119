"""Limits of a group's and its owners' spending in a month, from platform.yaml."""

from collections.abc import Iterable

from trellis.workflow.contracts.record import RunRecord
from trellis.workflow.pricing.cost import BudgetError
from trellis.workflow.spec.platform import Limits
from trellis.workflow.spec.quantities import usd_text


def within_month(
    limits: Limits, owner: str, month: str, at_most: float, others: Iterable[RunRecord]
) -> None:
    """Raises BudgetError if a run that may cost `at_most` might exceed a limit.

    month: as in "2026-05". others: the month's other runs of the group. One that has ended counts
    with what it has cost, any other with its own bound.
    """
    every = list(others)
    bounds = [
        ("the group", "limits.group", limits.group, every),
        (owner, f"limits.owners.{owner}", limits.owners.get(owner), _of(owner, every)),
    ]
    for who, key, limit, runs in bounds:
        spent = sum(run.usd for run in runs)
        if limit is not None and spent + at_most > limit:
            ended = sum(1 for run in runs if run.spent_usd is not None)
            raise BudgetError(
                f"This run may cost {at_most:.2f} USD at most, and {len(runs)} runs of {who} in "
                f"{month} come to {spent:.2f} USD already ({ended} by their own times, the others "
                f"by their bounds): more than {usd_text(limit)} a month (platform.yaml: {key}). "
                "Wait for the next month, plan a cheaper run, or raise the limit. `trellis runs` "
                "lists what each has cost."
            )


def _of(owner: str, runs: Iterable[RunRecord]) -> list[RunRecord]:
    return [run for run in runs if run.owner == owner]

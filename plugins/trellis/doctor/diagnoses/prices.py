"""Checks the region and the age of the prices for budgets."""

from collections.abc import Iterator
from datetime import date

from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target
from trellis.workflow.pricing import machines

_OLD_DAYS = 180


def diagnose(target: Target) -> Iterator[Finding | Passed]:
    """Outdated prices, and those of another region."""
    table = machines.table(target.platform.region)
    age = (target.today - date.fromisoformat(table.date)).days
    if age > _OLD_DAYS:
        yield Finding(
            f"The prices of machines are of {table.date}, {age} days ago.",
            "They give the upper bound of a run's cost, which is checked against its budget.",
            "trellis prices --write",
        )
    if target.platform.region != table.region:
        yield Finding(
            f"The prices of machines are those of {table.region}, jobs run in "
            f"{target.platform.region}.",
            "Budgets are checked with them, and other regions cost up to a third more.",
            "trellis prices --write, in the checkout from which the wheel is built",
        )
    yield Passed(f"of {table.date}, {table.region}")

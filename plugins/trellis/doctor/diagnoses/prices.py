"""Checks the region and the age of the prices that bound what runs cost."""

from collections.abc import Iterator
from datetime import date

from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target
from trellis.workflow.pricing import machines, services

_OLD_DAYS = 180


def diagnose(target: Target) -> Iterator[Finding | Passed]:
    """Outdated prices, and those of another region."""
    table = machines.table(target.platform.region)
    others = services.table(target.platform.region)
    oldest = min(table.date, others.date)
    age = (target.today - date.fromisoformat(oldest)).days
    if age > _OLD_DAYS:
        yield Finding(
            f"The prices of machines and services are of {oldest}, {age} days ago.",
            "They give the upper bound of a run's cost, which is checked against its budget.",
            "trellis prices --write",
        )
    for what, (day, source) in others.by_hand.items():
        if (target.today - date.fromisoformat(day)).days > _OLD_DAYS:
            yield Finding(
                f"The price of {what} is of {day}.",
                "It is a part of the bound of runs with AutoML, or of the digest.",
                f"Compare plugins/trellis/workflow/pricing/prices.json with its source: {source}",
            )
    for of, whose in (("machines", table.region), ("services", others.region)):
        if target.platform.region == whose:
            continue
        yield Finding(
            f"The prices of {of} are those of {whose}, jobs run in {target.platform.region}.",
            "Budgets are checked with them, and other regions cost up to a third more.",
            "trellis prices --write, in the checkout from which the wheel is built",
        )
    yield Passed(f"of {table.date}, {table.region}")

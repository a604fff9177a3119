"""Whether the prices by which budgets are checked are of the region, and not old."""

from collections.abc import Iterator
from datetime import date

from trellis.doctor.findings import Finding, Seen
from trellis.doctor.patient import Patient
from trellis.workflow.pricing import machines

_OLD_DAYS = 180


def look(patient: Patient) -> Iterator[Finding | Seen]:
    """Prices that are too old."""
    table = machines.table()
    age = (patient.today - date.fromisoformat(table.date)).days
    if age > _OLD_DAYS:
        yield Finding(
            f"The prices of machines are of {table.date}, {age} days ago.",
            "A run's cost is bounded by them, and checked against its budget.",
            "trellis prices --write",
        )
    if patient.platform.region != table.region:
        yield Finding(
            f"The prices of machines are those of {table.region}, jobs run in "
            f"{patient.platform.region}.",
            "Budgets are checked by them, and other regions cost up to a third more.",
            "trellis prices --write, in the checkout that the wheel is built of",
        )
    yield Seen(f"of {table.date}, {table.region}")

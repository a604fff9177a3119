"""Classes of a dataset: their order, and warnings about classes missing from a split."""

import re
from collections.abc import Iterable, Mapping

from trainer.dataset_description import Counts

_NAMES_SHOWN = 10
_DIGITS = re.compile(r"([0-9]+)")


def natural_order(name: str) -> tuple:
    """Sort key that compares runs of digits as numbers: "9" before "10", "a2" before "a10"."""
    parts = _DIGITS.split(name)
    # Text and numbers alternate in `parts`, so positions never compare a string with a number.
    numbers = [int(part) if i % 2 else part for i, part in enumerate(parts)]
    return (numbers, name)  # "1" and "01" have equal parts: the name decides


def absent_classes(counts: Mapping[str, Counts]) -> Iterable[str]:
    """Warnings about classes missing from the validation or test split."""
    for split in ("validation", "test"):
        absent = [name for name, count in counts[split].classes.items() if not count]
        if absent:
            yield (
                f"{len(absent)} of {len(counts[split].classes)} classes have no example in the "
                f"{split} split ({', '.join(map(repr, absent[:_NAMES_SHOWN]))}): its metrics do "
                "not cover them"
            )

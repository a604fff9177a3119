"""Classes of a dataset: their order, and warnings about classes missing from a split."""

from collections.abc import Collection, Iterable, Mapping

from trainer.exporting import ExportError
from trellis_contracts.dataset import Counts
from trellis_contracts.tasks import natural_order

_NAMES_SHOWN = 10


def in_order(names: Collection[str], positive: str | None) -> tuple[str, ...]:
    """The classes in natural order; of two, the positive one second, if it is named. Raises
    ExportError if it is none of them.
    """
    found = tuple(sorted(names, key=natural_order))
    if positive is None:
        return found
    if positive not in found or len(found) != 2:
        raise ExportError(
            f"positive: {positive!r} is to be one of two classes, and the examples have "
            f"{', '.join(map(repr, found[:_NAMES_SHOWN]))}"
        )
    return tuple(sorted(found, key=lambda name: name == positive))


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

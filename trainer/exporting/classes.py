"""Classes of a dataset: their order, and warnings about classes missing from a split."""

from collections.abc import Collection, Iterable, Mapping

from trainer.exporting import ExportError
from trellis_contracts.dataset import Counts
from trellis_contracts.tasks import natural_order
from trellis_contracts.withheld import quoted, some_of

_NAMES_SHOWN = 10

# A label with more distinct values is not a class.
MAX_CLASSES = 10_000


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
            f"{some_of(found, 'class', 'classes', _NAMES_SHOWN)}"
        )
    return tuple(sorted(found, key=lambda name: name == positive))


def check_number_of_classes(names: Collection[str], label: str) -> None:
    """Raise ExportError if there are more than MAX_CLASSES, which also bounds memory. label: its
    column.
    """
    if len(names) > MAX_CLASSES:
        raise ExportError(
            f"the label ({label}) has more than {MAX_CLASSES} distinct values; if it is a number, "
            "choose the task regression"
        )


def absent_classes(counts: Mapping[str, Counts]) -> Iterable[str]:
    """Warnings about classes missing from the validation or test split."""
    for split in ("validation", "test"):
        absent = [name for name, count in counts[split].classes.items() if not count]
        if absent and counts[split].examples:
            some = some_of(absent, "class", "classes", _NAMES_SHOWN)
            yield (
                f"{len(absent)} of {len(counts[split].classes)} classes have no example in the "
                f"{split} split{quoted(f' ({some})', '')}: its metrics do not cover them"
            )

"""What dataset.json warns of, whether its examples are images or rows."""

from collections.abc import Iterable, Mapping

from trainer.dataset_description import Counts

_NAMES_SHOWN = 10


def absent_classes(counts: Mapping[str, Counts]) -> Iterable[str]:
    """Classes that the validation or test split knows nothing of."""
    for split in ("validation", "test"):
        absent = [name for name, count in counts[split].classes.items() if not count]
        if absent:
            yield (
                f"{len(absent)} of {len(counts[split].classes)} classes have no example in the "
                f"{split} split ({', '.join(map(repr, absent[:_NAMES_SHOWN]))}): its metrics say "
                "nothing about them"
            )

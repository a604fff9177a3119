"""Ends an export: checks the results of the shards, then writes dataset.json or refuses.

rejected.jsonl is written in both cases: it shows why an export was refused.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from trainer.exporting import ExportError
from trainer.exporting.classes import absent_classes
from trainer.exporting.images.assignment import Plan
from trainer.exporting.images.manifest import Manifest, Rejection
from trainer.exporting.images.reading import warnings
from trainer.exporting.images.shards import ShardResult
from trainer.exporting.number_statistics import Numbers
from trainer.exporting.settings import ImageExportSettings
from trellis_contracts.dataset import (
    CLASSIFICATION,
    FILE_NAME,
    REJECTED_FILE_NAME,
    SPLITS,
    Counts,
    DatasetDescription,
)
from trellis_contracts.dataset_features import Label
from trellis_contracts.tasks import REGRESSION
from trellis_contracts.withheld import quoted, shown, some_of

_REASONS_SHOWN = 5


def commit(
    settings: ImageExportSettings,
    manifest: Manifest,
    plan: Plan,
    results: Iterable[ShardResult],
    write: Callable[[str, bytes], None],
) -> DatasetDescription:
    """Write rejected.jsonl and dataset.json through write(name, data), dataset.json last.

    Raises ExportError, without writing dataset.json, if too many lines were rejected, if a class
    has no train example left, if all numbers of the train split are equal, or if a split has no
    example at all.
    """
    results = sorted(results, key=lambda result: result.shard.name)
    rejected = sorted([*manifest.rejected, *(r for result in results for r in result.rejected)])
    write(REJECTED_FILE_NAME, "".join(f"{r.to_json()}\n" for r in rejected).encode())
    check_rejected_share(rejected, manifest.lines, settings)
    counts = {split: _counts(results, split, plan.classes) for split in SPLITS}
    _check_counts(counts, rejected)
    description = DatasetDescription(
        fingerprint=settings.fingerprint,
        task=None if settings.task == CLASSIFICATION else settings.task,
        source={
            "manifest": settings.source,
            "sha256": manifest.sha256,
            "lines": manifest.lines,
        },
        split=plan.split,
        features=(settings.image,),
        label=_number(results) if settings.task == REGRESSION else Label(),
        classes=plan.classes,
        counts=counts,
        files={
            split: tuple(result.shard for result in results if result.split == split)
            for split in SPLITS
        },
        rejected=len(rejected),
        warnings=tuple(map(shown, (*warnings(results), *absent_classes(counts)))),
    )
    write(FILE_NAME, description.to_json().encode())
    return description


def check_rejected_share(
    rejected: Sequence[Rejection], lines: int, settings: ImageExportSettings
) -> None:
    """Raise ExportError, with the first reasons, if more than max_rejected of the lines are."""
    if len(rejected) <= settings.max_rejected * lines:
        return
    listed = "".join(f"\n  line {r.line} {r.uri}: {r.reason}" for r in rejected[:_REASONS_SHOWN])
    more = len(rejected) - _REASONS_SHOWN
    listed += f"\n  and {more} more, all in {REJECTED_FILE_NAME}" if more > 0 else ""
    raise ExportError(
        f"{len(rejected)} of {lines} manifest lines are rejected "
        f"({len(rejected) / lines:.1%}; the limit is {settings.max_rejected:.1%}):"
        f"{quoted(listed, f' see {REJECTED_FILE_NAME}')}"
        "\nCorrect the manifest or the images, or raise --max_rejected"
    )


def _counts(results: list[ShardResult], split: str, classes: tuple[str, ...]) -> Counts:
    by_class: Counter[int] = Counter()
    for result in results:
        if result.split == split:
            by_class.update(result.class_counts)
    return Counts(
        examples=sum(result.shard.examples for result in results if result.split == split),
        classes={name: by_class[index] for index, name in enumerate(classes)},
    )


def _number(results: Sequence[ShardResult]) -> Label:
    """A regression's label. Raises ExportError if it is constant."""
    values = np.array([value for result in results for value in result.values], np.float32)
    statistics = Numbers.of(values).statistics()
    if statistics.min == statistics.max:
        raise ExportError(
            f"the label is {quoted(f'{statistics.min:g}', 'the same')} for every image of the "
            "train split; there is nothing to learn"
        )
    return Label("label", "float32", statistics=statistics)


def _check_counts(counts: dict[str, Counts], rejected: list[Rejection]) -> None:
    for split in SPLITS:
        if not counts[split].examples:
            raise ExportError(f"every image of the {split} split was rejected; {_first(rejected)}")
    classes = counts["train"].classes
    absent = [name for name, count in classes.items() if not count]
    if absent:
        raise ExportError(
            f"all train images were rejected of {len(absent)} of {len(classes)} classes: "
            f"{some_of(absent, 'class', 'classes', 10)}; {_first(rejected, set(absent))}"
        )


def _first(rejected: list[Rejection], labels: set[str] | None = None) -> str:
    first = next(r for r in rejected if labels is None or r.label in labels)
    return f"the first is line {first.line}{quoted(f' {first.uri}: {first.reason}', '')}"

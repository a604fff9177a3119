"""Finds what the export and the trainer would refuse in images, before any is read.

Of a manifest, by the split of each. What images hold, and whether they are there, only the export
finds.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trellis.workflow.lookups.image_manifest import Image, is_number
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.split import KeySplit
from trellis.workflow.stages import training_checks
from trellis.workflow.stages.training_checks import Counts, as_float32
from trellis_contracts.tasks import REGRESSION
from trellis_contracts.withheld import quoted, some_of


def judge(experiment: Experiment, images: Mapping[str, Sequence[Image]]) -> list[str]:
    """Return why the run could not end well. images: of each split."""
    regression = experiment.task == REGRESSION
    classes = {
        name: Counter(label for image in some for label in image.labels)
        for name, some in images.items()
    }
    splits = {
        name: Counts(len(some), {} if regression else classes[name])
        for name, some in images.items()
    }
    problems = [*_empty(experiment, images)]
    if regression:
        values = {as_float32(label) for label in classes["train"] if is_number(label)}
        if images["train"] and len(values) < 2:
            problems.append("all labels of the train split are one number: nothing to learn")
        return [*problems, *training_checks.judge(experiment, splits)]
    unseen = sorted({name for found in classes.values() for name in found} - {*classes["train"]})
    if unseen and images["train"]:
        problems.append(
            f"no image of {some_of(unseen, 'class', 'classes')} is in the train split: leave the "
            "class out, get more images of it, or divide each class (stratify)"
        )
    return [*problems, *training_checks.judge(experiment, splits)]


def of_rows(row: Mapping[str, Any], max_rejected: float) -> tuple[list[str], list[str]]:
    """Problems and warnings of rows without a usable address. row: the result of checks.sql.

    max_rejected: share of rows, 0 to 1, that the export may reject.
    """
    count, rows = row["rows_without_image"], row["examples"]
    if not count:
        return [], []
    shown = "; ".join(
        f"{found['feature']} of the key {found['key']!r} is {_value(found['value'])}"
        for found in row["no_addresses"]
    )
    found = f"{count:,} of {rows:,} rows have no address gs://BUCKET/OBJECT of an image"
    found += quoted(f": {shown}", "")
    if count > max_rejected * rows:
        limit = f"more than source.max_rejected ({max_rejected:g}) allows"
        return [f"{found}; {limit}: leave these rows out in a query"], []
    return [], [f"{found}; the export rejects them"]


def _value(address: str | None) -> str:
    return "NULL" if address is None else repr(address[:200])


def _empty(experiment: Experiment, images: Mapping[str, Sequence[Image]]) -> Iterator[str]:
    sizes = {name: len(some) for name, some in images.items()}
    named = any(image.ml_use for some in images.values() for image in some)
    for name, size in sizes.items():
        if not size:
            remedy = (
                "mark some lines as that split (ML_USE)"
                if named
                else "add images, or give that split a larger share (source.split)"
                if isinstance(experiment.source.split, KeySplit)
                else "see source.split"
            )
            yield f"the {name} split has no image ({sizes}): {remedy}"

"""Masks of a segmentation, against what else the file says of the source."""

from collections.abc import Iterator

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import Problem
from trellis.workflow.spec.source import RowSource
from trellis.workflow.spec.split import StratifiedSplit
from trellis.workflow.validation.columns import folded
from trellis_contracts.tasks import SEGMENTATION


def problems(experiment: Experiment) -> Iterator[Problem]:
    """List what a segmentation lacks, or another task has of it."""
    source = experiment.source
    if experiment.task != SEGMENTATION:
        if source.masks is not None:
            message = f"names the classes of masks, of a {SEGMENTATION}, and the task is "
            yield Problem(("source", "masks"), f"{message}{experiment.task}: leave it out")
        return
    if source.masks is None:
        yield Problem(
            ("source",),
            "lacks `masks`, the classes of a mask's pixels by their values, the background first: "
            "`masks: {background: 0, cell: 255}`, say",
        )
    if not isinstance(source, RowSource):
        return
    if not source.image_columns:
        yield Problem(
            ("source",),
            f"lacks `image_columns`: a {SEGMENTATION} learns from images, whose masks are the "
            "label",
        )
    split = source.split
    if isinstance(split, StratifiedSplit) and folded(split.stratify) == folded(source.label_column):
        message = f"'{split.stratify}' has an address of its own in each row: divide another column"
        yield Problem(("source", "split", "stratify"), message)

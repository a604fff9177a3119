"""Labels that are masks: addresses of files, whose pixels are classes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trellis.workflow.labels import form
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import Problem
from trellis.workflow.spec.source import RowSource, Source
from trellis.workflow.spec.split import StratifiedSplit
from trellis_contracts.dataset_features import IMAGE, Feature, Label
from trellis_contracts.tasks import SEGMENTATION

FOREGROUND = "foreground"
"""Column of a prediction: the share of the pixels that are not background."""


class Form(form.LabelForm):
    """See the module."""

    answer = FOREGROUND
    bad = "FALSE"  # one without an address is rejected, as an image is
    is_named, of_files, alone = False, True, False
    written_by = "masks"

    def problems(self, experiment: Experiment, learned: bool) -> Iterator[Problem]:
        source = experiment.source
        if not learned:
            if source.masks is not None:
                message = f"names the classes of masks, of a {SEGMENTATION}, and the task is "
                yield Problem(("source", "masks"), f"{message}{experiment.task}: leave it out")
            return
        if source.masks is None:
            yield Problem(
                ("source",),
                "lacks `masks`, the classes of a mask's pixels by their values, the background "
                "first: `masks: {background: 0, cell: 255}`, say",
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
        if (
            isinstance(split, StratifiedSplit)
            and split.stratify.lower() == source.label_column.lower()
        ):
            message = (
                f"'{split.stratify}' has an address of its own in each row: divide another column"
            )
            yield Problem(("source", "split", "stratify"), message)

    def in_columns(self, source: Source) -> Mapping[str, Any]:
        return {"masks": source.masks or ()}

    def identity(self, source: Source) -> Mapping[str, Any]:
        return {"masks": [one.to_document() for one in source.masks or ()]}

    def parts(self, source: Source) -> Sequence[str]:
        # No metric averages over the background.
        return [one.name for one in (source.masks or ())[1:]]

    def decoded(self, features: Sequence[Feature]) -> Label:
        return Label.of_masks(next(one for one in features if one.kind == IMAGE))

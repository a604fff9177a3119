"""Loads an ensemble that trainer.ensemble has saved: several models that answer with their mean."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trainer import models
from trainer.estimators import ensemble
from trainer.metrics import means
from trainer.metrics.decision import Threshold
from trainer.serving.answers import Answered
from trainer.serving.image_explanations import PixelExplainer
from trainer.serving.model import Model, ModelError
from trainer.serving.row_explanations import RowExplainer
from trellis_contracts.ensemble import FOLDER


def load(directory: Path) -> Model:
    """Load all members. Raises ModelError."""
    try:
        saved = ensemble.read(directory)
    except models.ModelError as error:
        raise ModelError(str(error)) from error
    members = [Model.load(directory / FOLDER / name) for name in saved.members]
    first = members[0]
    threshold = saved.threshold.to_document() if saved.threshold else None
    serve = _Serve(members, Threshold.of(threshold, first.classes) if threshold else None)
    fields = first.rows.fields
    # Masks have no mean: `train.ensemble` is refused for them.
    assert first.explainer is not None
    values = zip(fields, first.explainer.ordinary, strict=True)
    ordinary = {field.input: [value] for field, value in values}
    explainer = RowExplainer(serve, first.rows, ordinary, _pixels(members))
    return Model(
        first.rows,
        serve,
        first.classes,
        first.family,
        threshold,
        explainer,
        first.example,
        first.times,
        first.horizons,
    )


class _Serve:
    """Answers with the mean, by the inputs of the first member: those of the others are the same
    features in the same order, perhaps under other names.
    """

    def __init__(self, members: Sequence[Model], threshold: Threshold | None):
        self._members = members
        first = [field.input for field in members[0].rows.fields]
        own = [[field.input for field in member.rows.fields] for member in members]
        self._inputs = [dict(zip(names, first, strict=True)) for names in own]
        self._about = Answered(members[0].family, members[0].classes, threshold)

    def __call__(self, **columns: np.ndarray) -> dict[str, np.ndarray]:
        found = [
            member.answers({own: columns[first] for own, first in inputs.items()})
            for member, inputs in zip(self._members, self._inputs, strict=True)
        ]
        scores = [self._about.scores(answer) for answer in found]
        return self._about.outputs(means.of_answers(scores))


def _pixels(members: Sequence[Model]) -> list[PixelExplainer]:
    """Explain images by the mean of the gradients, which is the gradient of the mean; none if a
    member has none.
    """
    each = [member.explainer.pixels for member in members if member.explainer is not None]
    if not all(each):
        return []
    gradients = [pixels[0].gradient for pixels in each]

    def gradient(**inputs: np.ndarray) -> dict[str, np.ndarray]:
        found = [one(**inputs) for one in gradients]
        return {name: means.of_answers([one[name] for one in found]) for name in found[0]}

    fields = members[0].rows.fields
    return [PixelExplainer(gradient, fields[place]) for place in members[0].rows.images]

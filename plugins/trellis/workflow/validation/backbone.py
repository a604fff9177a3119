"""What a backbone cannot begin with, or be given."""

from collections.abc import Iterator

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import Problem
from trellis.workflow.spec.source import ImageSource
from trellis.workflow.validation.hyperparameters import possible
from trellis_contracts.catalog import Catalog

MODEL = "backbone"


def problems(experiment: Experiment, catalog: Catalog) -> Iterator[Problem]:
    """Whether a file of weights is there, only `plan` can say (trellis.workflow.lookups)."""
    if experiment.model != MODEL:
        return
    if "weights" in experiment.search:
        message = "weights are fixed, in `hyperparameters`; they are not searched"
        yield Problem(("tune", "search", "weights"), message)
    weights = str(experiment.hyperparameters.get("weights", "none"))
    if weights not in ("none", "imagenet") and not weights.startswith("gs://"):
        yield Problem(
            ("hyperparameters", "weights"),
            f"got {weights}; expected none, imagenet, or the gs:// address of a file or a folder",
        )
    if isinstance(experiment.source, ImageSource):
        yield from _size(experiment.source, experiment, catalog)


def _size(source: ImageSource, experiment: Experiment, catalog: Catalog) -> Iterator[Problem]:
    """Keras' networks have a least size each, of which the greatest is told."""
    least = catalog.hyperparameters["backbone"].schema["least_side"]
    known = [name for name in possible(experiment, catalog, "backbone") if name in least]
    name = max(known, key=least.__getitem__, default=None)
    if name is not None and min(source.size) < least[name]:
        height, width = source.size
        yield Problem(
            ("source", "size"),
            f"got {height} x {width} pixels; the backbone {name} takes {least[name]} x "
            f"{least[name]} or more",
        )

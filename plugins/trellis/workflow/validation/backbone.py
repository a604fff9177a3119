"""Validates a backbone: its images and its pretrained weights."""

from collections.abc import Iterator

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import Problem

MODEL = "backbone"


def problems(experiment: Experiment) -> Iterator[Problem]:
    """List the problems. Only `plan` can say whether a file of weights exists
    (trellis.workflow.lookups).
    """
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

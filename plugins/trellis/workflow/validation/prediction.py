"""Validates the section `predict` against the source and the machines."""

from collections.abc import Iterator

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.prediction import ImagePredict
from trellis.workflow.spec.problems import Problem
from trellis.workflow.spec.source import ImageSource
from trellis.workflow.validation.machines import machine_problems


def problems(experiment: Experiment) -> Iterator[Problem]:
    """List the problems that no field shows by itself."""
    predict, source = experiment.predict, experiment.source
    if predict is None:
        return
    of_manifest = isinstance(source, ImageSource)
    if isinstance(predict, ImagePredict) != of_manifest:
        fitting = "`images`" if of_manifest else "`bigquery` or `query`"
        yield Problem(
            ("predict", *predict.opening),
            f"the models of this experiment learn from {source.title} (source); expected {fitting}",
        )
    yield from machine_problems(predict.machines, ("predict", "machines"), "serving")

"""Validates the section `predict` against the source and the machines."""

from collections.abc import Iterator

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import Problem
from trellis.workflow.validation.machines import machine_problems


def problems(experiment: Experiment) -> Iterator[Problem]:
    """List the problems that no field shows by itself."""
    predict, kind = experiment.predict, experiment.source.kind
    if predict is None:
        return
    if predict.kind != kind:
        fitting = "`images`" if kind == "image" else "`bigquery` or `query`"
        yield Problem(
            ("predict", *predict.opening),
            f"the models of this experiment learn from {kind}s (source); expected {fitting}",
        )
    yield from machine_problems(predict.machines, ("predict", "machines"), "serving")

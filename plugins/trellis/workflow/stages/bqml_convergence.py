"""Finds BigQuery ML models that had not converged: a lead over such a baseline says little."""

from collections.abc import Mapping
from typing import Any

from trellis.workflow.spec import bqml_options

_BY_STEPS = {"optimize_strategy", "l1_reg"}
"""Options of a linear regression, of which the second has no exact solution."""

_MOST_EXACT = 10_000
"""Numbers, and values of categories, of all features, for which there is one: OPTIMIZE_STRATEGY of
https://cloud.google.com/bigquery/docs/reference/standard-sql/bigqueryml-syntax-create-glm
"""

_LEAST_PROGRESS = 0.01
"""BigQuery ML's default of MIN_REL_PROGRESS."""


def warnings(name: str, run: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[str, ...]:
    """Why a model may be worse than its type could be, and the option to set.

    name: the type of model. run: a TrainingRun,
    https://cloud.google.com/bigquery/docs/reference/rest/v2/models#trainingrun. asked: the options
    that the experiment's file has for the type.
    """
    options = run.get("trainingOptions", {})
    steps = sorted(run.get("results", []), key=lambda each: int(each.get("index", 0)))
    if len(steps) < 2:
        return ()
    if name == "linear_reg" and not asked.keys() & _BY_STEPS:
        return (
            f"learned by {len(steps)} steps of gradient descent, as BigQuery ML does where "
            "features have many values for the number of rows: an exact solution may be better, if "
            f"these are {_MOST_EXACT:,} at most {_in(name, 'optimize_strategy: NORMAL_EQUATION')}",
        )
    most = int(options.get("maxIterations", 0))
    # Google's early stopping goes by the first, too, where there is a validation split.
    kind = "evalLoss" if "evalLoss" in steps[-1] else "trainingLoss"
    before, last = (float(step.get(kind, 0)) for step in steps[-2:])
    fell = 1 - last / before if before > 0 else 0.0
    progress = float(options.get("minRelativeProgress", _LEAST_PROGRESS))
    if not 0 < most <= len(steps) or fell < progress:
        return ()
    rows = "validation" if kind == "evalLoss" else "train"
    more = min(bqml_options.MOST_ITERATIONS, 10 * most)
    return (
        f"ended after {most} iterations, of which the last still lowered its loss on the {rows} "
        f"rows by {fell:.0%}: with more it may be better {_in(name, f'max_iterations: {more}')}",
    )


def _in(name: str, option: str) -> str:
    """Where the option stands in an experiment's file."""
    return f"(baselines: {{options: {{{name}: {{{option}}}}}}})"

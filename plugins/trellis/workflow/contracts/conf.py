"""Refuses keys of a run's `conf` that are not parameters of its DAG.

Airflow accepts and ignores them, so a run triggered with `learning_rate: 0.1` would train with
another value.
"""

from collections.abc import Iterable

from trellis.workflow.spec.problems import FileError, Problem, did_you_mean
from trellis.workflow.spec.trainer_schema import load as load_schema


def refuse_unknown(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises FileError for each key of `given` that is not `known`.

    name: of the DAG. given: the run's parameters: the DAG's, overridden by conf.
    """
    known = list(known)
    hyperparameters = load_schema().hyperparameters
    problems = []
    for key in given:
        if key in known:
            continue
        where = (
            "a hyperparameter is set in the experiment file"
            if key in hyperparameters
            else "a run cannot change anything else"
        )
        problems.append(Problem((key,), f"unknown parameter; {did_you_mean(key, known)}; {where}"))
    if problems:
        raise FileError(f"The parameters of this run of {name}", problems)

"""Refuses keys of a run's `conf` that are not parameters of its DAG.

Airflow accepts and ignores them, so a run triggered with `learning_rte: 0.1` would train with
another learning rate.
"""

from collections.abc import Iterable

from trellis.workflow.spec.problems import FileError, Problem, did_you_mean


def refuse_unknown(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises FileError for each key of `given` that is not `known`.

    name: of the DAG. given: the run's parameters: the DAG's, overridden by conf.
    """
    known = list(known)
    problems = [
        Problem(
            (key,),
            f"unknown parameter; {did_you_mean(key, known)}; a run cannot change anything else",
        )
        for key in given
        if key not in known
    ]
    if problems:
        raise FileError(f"The parameters of this run of {name}", problems)

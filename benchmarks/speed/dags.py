"""Milliseconds a DAG to build and to serialize experiments, as the DAG processor does.

The files are copies of dags/experiments, with the models' files that they name. They make the DAGs
that train, and those that serve again and predict. The peer is a DAG of as many tasks for each,
all EmptyOperators without parameters: what Airflow itself takes. Airflow ends the processing of a
file after 50 s (`[dag_processor] dag_file_processor_timeout`).
"""

import itertools
import logging
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

import airflow.providers.google.cloud.operators.vertex_ai.custom_job  # noqa: F401
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization

from trellis import dags
from trellis.workflow.assembly import training  # noqa: F401

EXPERIMENTS = Path(__file__).resolve().parents[2] / "dags" / "experiments"
COUNT = 10


def copies(folder):
    """dags/ with COUNT experiment files; the path of a DAG file beside them."""
    shutil.copytree(EXPERIMENTS, folder / "experiments", ignore=shutil.ignore_patterns("*.yaml"))
    shutil.copy(EXPERIMENTS.parent / "platform.yaml", folder)
    files = sorted(EXPERIMENTS.glob("*.yaml"))
    for i in range(COUNT):
        shutil.copy(files[i % len(files)], folder / "experiments" / f"experiment-{i}.yaml")
    return folder / "dag_file.py"


def ours(file):
    built = dags.build(str(file))
    missing = {f"experiment-{i}" for i in range(COUNT)} - built.keys()
    assert not missing, missing
    return list(built.values())


def peers(dags_):
    others = []
    for dag in dags_:
        with DAG(dag.dag_id) as peer:
            for task in dag.tasks:
                EmptyOperator(task_id=task.task_id.replace(".", "-"))
        others.append(peer)
    return others


def milliseconds(work, dags_):
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) / len(dags_) * 1000


@contextmanager
def build(scratch):
    logging.disable(logging.WARNING)
    dags_ = ours(copies(scratch / "first"))
    numbers = itertools.count()

    def new():  # files that this process has not seen: it reads each once, too
        file = copies(scratch / str(next(numbers)))
        return milliseconds(lambda: ours(file), dags_)

    yield {"ours": new, "peer": lambda: milliseconds(lambda: peers(dags_), dags_)}


@contextmanager
def serialize(scratch):
    logging.disable(logging.WARNING)
    dags_ = ours(copies(scratch / "first"))
    others = peers(dags_)

    def of(chosen):
        return milliseconds(lambda: [DagSerialization.to_dict(dag) for dag in chosen], dags_)

    yield {"ours": lambda: of(dags_), "peer": lambda: of(others)}

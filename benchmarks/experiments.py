"""Seconds to build and to serialize the DAGs of many experiments, as the DAG processor does.

    .venv/airflow/bin/python benchmarks/experiments.py [EXPERIMENTS]

The files are copies of dags/experiments (500 unless given). The peer is a DAG of as many tasks,
all EmptyOperators without parameters: what Airflow itself takes. Airflow ends the processing of a
file after 50 s (`[dag_processor] dag_file_processor_timeout`).
"""

import logging
import shutil
import sys
import tempfile
import time
from pathlib import Path

EXPERIMENTS = Path(__file__).parent.parent / "dags" / "experiments"
START = time.perf_counter()


def copies(folder, count):
    """dags/ with `count` experiment files; the path of a DAG file beside them."""
    shutil.copy(EXPERIMENTS.parent / "platform.yaml", folder)
    (folder / "experiments").mkdir()
    files = sorted(EXPERIMENTS.glob("*.yaml"))
    for i in range(count):
        shutil.copy(files[i % len(files)], folder / "experiments" / f"experiment-{i}.yaml")
    return folder / "dag_file.py"


def peers(dags):
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG

    made = []
    for dag in dags:
        with DAG(dag.dag_id) as peer:
            for task in dag.tasks:
                EmptyOperator(task_id=task.task_id.replace(".", "-"))
        made.append(peer)
    return made


def serialized(dags):
    from airflow.serialization.serialized_objects import DagSerialization

    return sum(len(str(DagSerialization.to_dict(dag))) for dag in dags)


def timed(what, work, count):
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    print(f"{what:34} {seconds:7.2f} s {seconds / count * 1000:8.1f} ms a DAG", flush=True)
    return result


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    logging.disable(logging.WARNING)
    import airflow.providers.google.cloud.operators.vertex_ai.custom_job  # noqa: F401

    from trellis import dags
    from trellis.workflow.assembly import training  # noqa: F401

    print(f"imports {time.perf_counter() - START:.2f} s; {count} experiments")
    with tempfile.TemporaryDirectory() as folder:
        file = copies(Path(folder), count)
        made = timed("build", lambda: list(dags.training(str(file)).values()), count)
    assert len(made) == count
    size = timed("serialize", lambda: serialized(made), count)
    tasks = sum(len(dag.tasks) for dag in made)
    print(f"  {tasks / count:.1f} tasks and {size / count / 1000:.0f} kB a DAG")
    others = timed("peer: build", lambda: peers(made), count)
    timed("peer: serialize", lambda: serialized(others), count)


if __name__ == "__main__":
    main()

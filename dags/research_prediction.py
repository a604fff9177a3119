"""An Airflow DAG EXPERIMENT-predict for every file in experiments/ that has a `predict` section.

A file that is wrong makes no DAG and harms no other; check_experiments.py reports it.
"""

from pathlib import Path

# Named here so that the DAG processor imports them once: see research_training.py.
import airflow.providers.google.cloud.hooks.bigquery
import airflow.providers.google.cloud.hooks.gcs
import airflow.providers.google.cloud.hooks.vertex_ai.custom_job
import airflow.providers.google.cloud.hooks.vertex_ai.model_service
import airflow.providers.google.cloud.operators.vertex_ai.custom_job  # noqa: F401
from airflow.sdk import get_parsing_context

from research import platform
from research.experiment import load
from research.prediction import workflow
from research.problems import FileError

EXPERIMENTS = Path(__file__).parent / "experiments"

# In a task's process only that task's DAG is made: tasks start fast beside many experiments.
wanted = get_parsing_context().dag_id
group = platform.load()

for file in sorted(EXPERIMENTS.glob("*.yaml")):
    if wanted not in (None, f"{file.stem}-predict"):
        continue
    try:
        experiment = load(file)
    except FileError:
        continue
    if experiment.predict is not None:
        globals()[workflow.dag_id(experiment)] = workflow.build(experiment, group)

"""The Airflow DAG rollback, for all experiments that deploy models; none if there is none.

A file that is wrong cannot be rolled back until it is mended: its machines are not known.
check_experiments.py reports it.
"""

from pathlib import Path

# Named here so that the DAG processor imports them once: see research_training.py.
import airflow.providers.google.cloud.hooks.gcs
import airflow.providers.google.cloud.hooks.vertex_ai.custom_job
import airflow.providers.google.cloud.hooks.vertex_ai.endpoint_service
import airflow.providers.google.cloud.hooks.vertex_ai.model_service  # noqa: F401
from airflow.sdk import get_parsing_context

from research import platform
from research.experiment import load
from research.problems import FileError
from research.rollback import workflow

experiments = {}
# In the process of another DAG's task there is nothing to make.
if get_parsing_context().dag_id in (None, workflow.DAG_ID):
    for file in sorted((Path(__file__).parent / "experiments").glob("*.yaml")):
        try:
            experiment = load(file)
        except FileError:
            continue
        if experiment.deploy is not None:
            experiments[experiment.name] = experiment

if experiments:
    rollback = workflow.build(experiments, platform.load())

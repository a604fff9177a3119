"""The Airflow DAG undeploy_previous, for all experiments that deploy models; none if there is none.

It is there even if none of them has `keep_previous`: one that had it may have left a run that waits
for its time, and without its DAG would wait for ever.
"""

from pathlib import Path

# Named here so that the DAG processor imports them once: see research_training.py.
import airflow.providers.google.cloud.hooks.vertex_ai.custom_job
import airflow.providers.google.cloud.hooks.vertex_ai.endpoint_service
import airflow.providers.google.cloud.hooks.vertex_ai.model_service
import airflow.providers.standard.operators.trigger_dagrun  # noqa: F401
from airflow.sdk import get_parsing_context

from research import platform, retirement
from research.experiment import load
from research.problems import FileError


def _deploys(file: Path) -> bool:
    try:
        return load(file).deploy is not None
    except FileError:
        return False


# In the process of another DAG's task there is nothing to make.
if get_parsing_context().dag_id in (None, retirement.DAG_ID):
    files = (Path(__file__).parent / "experiments").glob("*.yaml")
    if any(_deploys(file) for file in files):
        undeploy_previous = retirement.build(platform.load())

"""Links from an experiment's tasks to the pages of all runs."""

from typing import Any

from airflow.sdk import BaseOperatorLink

from trellis.workflow.contracts.layout import run_folder


class ResultsLink(BaseOperatorLink):
    """The page of the task's run. Relative, since Airflow may not be at its host's root."""

    name = "All runs: this one"

    def __init__(self, dag_id: str, generation: int):
        self._dag_id, self._generation = dag_id, generation

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        folder = run_folder(ti_key.run_id, self._generation)
        return f"trellis/experiments/{self._dag_id}/runs/{folder}"

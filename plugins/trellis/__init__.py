"""Trellis: research training on Google Cloud, one YAML file and one Airflow DAG per experiment.

vertex, bigquery, dataflow   operators and triggers for any DAG; they know nothing of the workflow
schedules                    a timetable that Airflow lacks
compatibility                which versions of Airflow and its Google provider this package needs
workflow                     from an experiment file to a leaderboard and a served model
results                      what came out, for people: load_run has one run as pandas frames
"""

from typing import TYPE_CHECKING, Any

from trellis import compatibility

if TYPE_CHECKING:
    from trellis.results.run import LoadedRun

compatibility.check()


def load_run(uri: str, client: Any = None) -> "LoadedRun":
    """The run whose folder is gs://BUCKET/EXPERIMENT/runs/RUN/; see trellis.results.run."""
    # pandas takes a second to import, which Airflow's processes need not spend.
    from trellis.results import run

    return run.load_run(uri, client)

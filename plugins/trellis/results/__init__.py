"""Results of all runs, read from the bucket: for Python, the command line and the pages in the UI.

    from trellis.results import load_runs

    for run in load_runs("dags"):                    # the folder of platform.yaml
        if run.result:
            print(run.experiment, run.run_id, run.result.metric, run.result.value)

Reads the index: one request for a thousand runs. Needs neither Airflow's database nor TensorFlow.
"""

from trellis.results.index import Index, load_index, load_runs

__all__ = ["Index", "load_index", "load_runs"]

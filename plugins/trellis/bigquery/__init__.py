"""BigQuery jobs from Airflow: exactly one job per piece of work, no worker held while it runs.

operators   BigQueryJobOperator
submission  find the job of a piece of work by its id, or insert it
outcome     what a job's end means for the task
triggers    wait for it without a worker, cancel it when the task is killed

Knows nothing of any workflow: usable in every DAG.
"""

"""BigQuery jobs from Airflow: exactly one job per unit of work, deferred while it runs.

operators   BigQueryJobOperator
submission  find the job of a unit of work by its id, or insert it
outcome     what a job's end means for the task
triggers    wait for it without a worker, cancel it when the task is killed

Independent of the workflow: usable in any DAG.
"""

"""Dataflow flex templates from Airflow: one job per task, deferred while it runs."""

"""Dataflow flex templates from Airflow: one job per task, no worker held while it runs."""

"""The stages of a run, in their order: plan, export, tune, choose, train, compare, result.

Each module has what its stage does as plain functions, and `task(...)`, which makes the Airflow
task.
"""

"""The stages of a run, in their order: plan, snapshot, check, extract, export, tune, choose, train,
beside them bqml and automl, then baselines, compare, result.

Each module has what its stage does as plain functions, and `task(...)`, which makes the Airflow
task.
"""

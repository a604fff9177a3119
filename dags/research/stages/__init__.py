"""The stages of a run, in their order: plan, snapshot, check, extract, export, tune, choose, train,
beside them bqml, automl and served, then baselines, compare, promote, deploy/, result.

Each module has what its stage does as plain functions, and `task(...)`, which makes the Airflow
task.
"""

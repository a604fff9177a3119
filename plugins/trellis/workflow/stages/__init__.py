"""The stages of a run, in their order: plan, snapshot, check, extract, export, tune, choose, train,
beside them bqml, automl and served, then baselines, compare, promote, deploy/, result.

Each module declares its STAGE (see `stage`) and implements it as plain functions; `task(...)`
returns the Airflow task. The chain of stages is in assembly/chain.py. `plan`
writes plan.json; every other stage makes its own job from it when it starts (see `planned`). Stages
exchange files, each with a schema (trellis_contracts); XComs hold only names that services
returned: of jobs, models, endpoints.
"""

"""Vertex AI from Airflow: one job, version or deployment per task, deferred while it runs.

operators    CustomJobOperator, HyperparameterTuningJobOperator, AutoMLImageOperator,
             AutoMLTabularOperator, BatchPredictionJobOperator
datasets     DatasetOperator: a managed dataset, and its import
models       ModelVersionOperator, AliasOperator, DeleteOldVersionsOperator
endpoints    EndpointOperator, DeployModelOperator, TrafficOperator
undeployment RetreatOperator, UndeployIdleOperator
base         what every operator adds to the provider's that it derives from
stepwise     operators that read the state, do one step, wait for it, and repeat
registry     the model registry's versions and aliases
deployments  what is deployed at an endpoint, and its traffic split
traffic      arithmetic of traffic splits
versions     names of model versions
identity     which job belongs to which task: labels
submission   find that job, or create it; what to do with one that failed
triggers     wait for it without a worker, cancel it when the task is killed
jobs         the calls of Vertex AI that the above need, the same for every kind of job
quotas       the quotas that machines take from, and a project's limits
outcome      what a job's end means for the task
verdict      the possible meanings, for jobs of any service
trials       what a tuning job found

Independent of the workflow: usable in any DAG.
"""

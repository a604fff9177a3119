"""Vertex AI from Airflow: one job, version or deployment per task, no worker held meanwhile.

operators    CustomJobOperator, HyperparameterTuningJobOperator, TrainingPipelineOperator,
             BatchPredictionJobOperator
datasets     DatasetOperator: a managed dataset, and its import
models       ModelVersionOperator, AliasOperator, DeleteOldVersionsOperator
endpoints    EndpointOperator, DeployModelOperator, TrafficOperator
undeployment RetreatOperator, UndeployIdleOperator
base         what every operator is told
stepwise     operators that look, do one thing, wait for it, and look again
registry     what is in the model registry
deployments  what is deployed at an endpoint, and its traffic split
traffic      arithmetic of traffic splits
versions     names of model versions
identity     which job belongs to which task: labels
submission   find that job, or create it; what to do with one that ended badly
triggers     wait for it without a worker, cancel it when the task is killed
jobs         the calls of Vertex AI that the above need, the same for every kind of job
outcome      what a job's end means for the task
verdict      the four things it can mean, for jobs of any service
trials       what a tuning job found

Knows nothing of any workflow: usable in every DAG.
"""

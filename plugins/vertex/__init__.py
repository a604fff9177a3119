"""Vertex AI jobs from Airflow: exactly one job per task, no worker held while it runs.

operators   CustomJobOperator, HyperparameterTuningJobOperator, TrainingPipelineOperator,
            BatchPredictionJobOperator
datasets    DatasetOperator: a managed dataset, and its import
base        what every operator is told
identity    which job belongs to which task: labels
submission  find that job, or create it; what to do with one that ended badly
triggers    wait for it without a worker, cancel it when the task is killed
jobs        the calls of Vertex AI that the above need, the same for every kind of job
outcome     what a job's end means for the task
verdict     the four things it can mean, for jobs of any service
trials      what a tuning job found

Knows nothing of any workflow: usable in every DAG.
"""

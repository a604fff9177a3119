"""Vertex AI on one machine. Its jobs are runs of `local_gcp.jobs`.

custom_jobs.py  JobService: CustomJobs
  validation.py   the checks of a new job
  machines.py     machine types and their accelerators
  workload.py     from the API's worker pools to programs, by images.yaml
  python_package.py   installs a Python package in the replica and becomes its module
tuning/         JobService: HyperparameterTuningJobs
pipelines.py    PipelineService: training pipelines: data, a run, a model
  training.py     the task of a pipeline; custom training
  automl/         AutoML of tables and images, as a small scikit-learn search
datasets/       DatasetService: tabular datasets, images, and their data for a training
  splits.py       assigns rows to training, validation and test
models.py       ModelService: versions and aliases
  artifacts.py    copies of their files, from which they are served
evaluations.py  ModelService: evaluations of the models that were trained here
batch_prediction/   JobService: BatchPredictionJobs
endpoints/      EndpointService and PredictionService: models served by real processes
tables.py       rows from CSV and BigQuery to Parquet, and back (csv_rows.py: CSV only)
gcs.py          gs:// addresses as files
background.py   work that takes longer than a call
service.py      puts these together, as a service of local_gcp
"""

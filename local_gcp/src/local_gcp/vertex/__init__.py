"""Vertex AI on one machine. Its jobs are runs of `local_gcp.jobs`.

custom_jobs.py  JobService: CustomJobs
  validation.py   what is refused when a job is created
  machines.py     machine types and their accelerators
  workload.py     from the API's worker pools to programs, by images.yaml
  python_package.py   installs a Python package in the replica and becomes its module
tuning/         JobService: HyperparameterTuningJobs
pipelines.py    PipelineService: training pipelines: data, a run, a model
  training.py     what a pipeline does, by its task; custom training
  automl/         AutoML of tables and images, as a small scikit-learn search
datasets/       DatasetService: tabular datasets, images, and their data for a training
  splits.py       which row trains, validates, tests
models.py       ModelService: versions and aliases
  artifacts.py    copies of their files, which are what is served
evaluations.py  ModelService: evaluations of the models that were trained here
batch_prediction/   JobService: BatchPredictionJobs
endpoints/      EndpointService and PredictionService: models served by real processes
tables.py       rows from CSV and BigQuery to Parquet, and back (csv_rows.py: CSV alone)
gcs.py          gs:// addresses as files
background.py   what takes longer than a call may
service.py      puts these together, as a service of local_gcp
"""

"""Batch prediction: a model, instances in a bucket or a table, and a job that joins them.

batch_jobs.py   JobService: BatchPredictionJobs
request.py      checks requests, and names the results
predict.py      the job's program; reads a config file
  rows.py         rows of a table through a model of tables
  instances.py    JSON instances through a model of images or a serving container
  container.py    the serving container as a process, and requests to it
  files.py        the files that both write
"""

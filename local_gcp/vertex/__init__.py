"""Vertex AI on one machine: jobs that really run, as processes.

runner.py       submit, observe, cancel and preempt runs; what every kind of job is built on:
  run.py          what a run shall do and how far it is
  supervisor.py   starts, looks at and ends the processes of one run
  recovery.py     what to do when a replica ends: restarts, retries, failure
  attempts.py     one attempt of one replica, held on to across kills of the server
  shim.py         parent of each attempt: outlives the server, writes down how it ended
  machine.py      cores, threads, ports
  cluster.py      TF_CONFIG and CLUSTER_SPEC
  logs.py         logs of replicas
jobs.py         JobService: CustomJobs (validation.py, workload.py: from a request to a run)
tuning/         JobService: HyperparameterTuningJobs
pipelines.py    PipelineService: training pipelines, each a CustomJob and an upload
models.py       ModelService: versions and aliases
"""

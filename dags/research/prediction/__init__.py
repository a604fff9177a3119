"""Batch prediction by an experiment's champion: the DAG EXPERIMENT-predict.

section      what the file says of it
checks       what must fit together in it
params       what a single run may change
columns      a table's columns against the features that the champion learned from
rows         a table or query, looked at before anything is spent
images       a folder of images, listed for the job
layout       where a run's files lie
plan, publish, result   the stages beside the snapshot and the job, which are plain operators
page, workflow          the DAG
"""

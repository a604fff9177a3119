"""Stages of batch prediction by an experiment's champion, the DAG EXPERIMENT-predict, in their
order: plan, snapshot and changes (of a table), predict, publish (of a table), result.

requests is a task of the DAG watch: it compares what the experiment's endpoint was asked.

columns         checks a table's columns against the features that the champion learned from
rows            inspects a table or query before anything is spent
images          lists a folder of images for the job
table_options   description and labels of the tables that a run creates
"""

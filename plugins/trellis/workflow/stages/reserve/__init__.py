"""Stages of the DAG EXPERIMENT-reserve, which serves the champion by today's image, untrained anew.

resolve      which version, by which image, and whether there is anything to do
subject      what the tasks of a deployment need of it; they are those of the experiment's own DAG
result       checks that the version is served, and records it
"""

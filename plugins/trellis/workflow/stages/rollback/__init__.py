"""Stages of the DAG rollback, which serves an earlier version of an experiment's model again.

resolve      which version, and whether there is anything to do
put_back     the operator that deploys it, or only shifts traffic
result       checks that the version is served as requested
"""

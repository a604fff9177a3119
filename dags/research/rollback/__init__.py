"""The DAG rollback: an earlier version of an experiment's model is served again, in one run.

resolve      which version, and whether there is anything to do
put_back     the operator that deploys it, or only shifts
result       whether it is as it was asked for
page, workflow
"""

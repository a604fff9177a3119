"""The research workflow: from an experiment file to a leaderboard and a served model.

experiment        the researcher's file, checked in full before anything is spent
platform          the group's Google Cloud: platform.yaml
params            what a single run may change
source            the manifest, looked at before anything is spent
layout            where a run's files lie
cost              what a plan may cost at most, and what serving costs
endpoint          what is served now
workflow          the whole chain on one page
stages/           one module per stage
prediction/       batch prediction by the champion, a DAG per experiment
rollback/         an earlier version into service again, one DAG for all
registry          the versions that there are
alerts            what a failure says

`python -m research check FILE` checks an experiment, `python -m research reference` lists all keys.
Nothing here imports Google's libraries at the top of a module: a DAG file must parse fast.
"""

"""The research workflow: from an experiment file to a leaderboard and a served model.

spec         the researcher's file and the group's platform file
validation   what must fit together in a file, and loading it
pricing      what a run may cost at most
contracts    what passes between stages: the plan, where files lie, what a run may change
sql          the statements that runs send to BigQuery
lookups      what Google Cloud says, for tasks
stages       one module per task
assembly     the DAGs; assembly/training.py has the whole chain on one page

A module imports only from those above it. Google's libraries are imported at the top of a module,
never within a function: a DAG file pays for them with its operators anyway, and names them itself,
so that the DAG processor imports them once (tests/dags/test_dag_files.py).
"""

"""`make demo`: all of Trellis on one machine, from a fresh clone to two leaderboards.

Runs in the Airflow environment. In reading order:

places              paths of a local run (everything below .local/)
airflow_environment the settings of a real Airflow on a small machine, each with its reason
services            local_gcp and Airflow's processes under supervisord
airflow_api         the few REST calls of Airflow that a run needs
digits_data         1,797 PNG files and their manifest into the bucket (trainer environment)
breast_cancer_data  569 rows into a BigQuery table of daily partitions (trainer environment)
progress            what the terminal shows during a run
screen              the terminal itself
serving             what was decided, what is served now, and how to ask it
endpoint_state      the endpoints, asked with Google's client
experiments         the data and one run of each experiment
__main__            the command
"""

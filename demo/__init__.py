"""`make demo`: the whole of Trellis on one machine, from a bare clone to a leaderboard.

Runs in the Airflow environment. Reads top to bottom:

places              where a local run keeps what (everything below .local/)
airflow_environment the settings of a real Airflow on a small machine, each with its reason
services            local_gcp and Airflow's processes under supervisord
airflow_api         the few REST calls of Airflow that a run needs
digits_data         1,797 PNG files and their manifest into the bucket (trainer environment)
progress            what the terminal shows while the run goes on
__main__            the command
"""

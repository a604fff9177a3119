"""Trellis: research training on Google Cloud, one YAML file and one Airflow DAG per experiment.

vertex, bigquery, dataflow   operators and triggers for any DAG; they know nothing of the workflow
schedules                    a timetable that Airflow lacks
compatibility                which versions of Airflow and its Google provider this package needs
workflow                     from an experiment file to a leaderboard and a served model
"""

from trellis import compatibility

compatibility.check()

"""Queries to Google Cloud about sources, served models and results; and the files of runs.

Called by tasks only: parsing a DAG makes no call to Google.
"""

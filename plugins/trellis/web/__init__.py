"""The page of all runs in Airflow's UI. Runs in the api-server only, and is imported when the page
is first asked for: see trellis.plugin.
"""

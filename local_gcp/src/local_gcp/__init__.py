"""Emulates Google Cloud on one machine for unchanged clients, and really runs the jobs.

`local-gcp --help` lists the commands; `server.py` shows how the services are put together.
"""

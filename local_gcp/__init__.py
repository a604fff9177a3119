"""Google Cloud on one machine: unchanged clients, operators and programs, jobs that really run.

`python -m local_gcp --help` explains the door; `server.py` shows how the services are put together.
"""

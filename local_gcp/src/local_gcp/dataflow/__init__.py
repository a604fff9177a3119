"""Dataflow on one machine: runs the programs of flex templates with `--runner=DirectRunner`.

template.py   the template file in Cloud Storage, and its rules for a launch's parameters
command.py    the command line that the template's launcher would run
jobs.py       the API: launch, get, list, cancel, messages
service.py    serves the API over gRPC and REST (rest.py) as a service of local_gcp
"""

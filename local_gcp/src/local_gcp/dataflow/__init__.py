"""Dataflow on one machine: flex templates whose program really runs, with Beam's local runner.

template.py   the template file in Cloud Storage, and what it says of a launch's parameters
command.py    the program and its flags, as the template's launcher would start it
jobs.py       launch, get, list, cancel, messages: the API, once
service.py    that API over gRPC and REST (rest.py), and this service's part of local_gcp
"""

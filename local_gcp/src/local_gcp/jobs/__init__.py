"""Runs jobs as processes: those of Vertex AI and Dataflow, and model servers.

runner.py       submits, observes, cancels and preempts runs, for every kind of job
run.py          records: what a run does, and its progress
supervisor.py   starts, checks and ends the processes of one run
recovery.py     what to do when a replica ends: restarts, retries, failure
attempts.py     one attempt of one replica, which survives kills of the server
shim.py         parent of each attempt: outlives the server, records how it ended
preloading.py   starts programs in a Python that has imported their libraries
  fork_server.py  that Python
machine.py      cores, threads, ports
cluster.py      TF_CONFIG and CLUSTER_SPEC
variables.py    $(NAME) in arguments and variables
logs.py         logs of replicas
images.py       the local environment that replaces a container image
  oci.py          an OCI image layout, unpacked
  container.py    runs a program in such an image, with runc
program.py      local_gcp's own programs as runs
"""

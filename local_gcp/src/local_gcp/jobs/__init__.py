"""Jobs that really run, as processes: those of Vertex AI and of Dataflow, and model servers.

runner.py       submit, observe, cancel and preempt runs; what every kind of job is built on
run.py          what a run does and how far it is
supervisor.py   starts, looks at and ends the processes of one run
recovery.py     what to do when a replica ends: restarts, retries, failure
attempts.py     one attempt of one replica, held on to across kills of the server
shim.py         parent of each attempt: outlives the server, writes down how it ended
machine.py      cores, threads, ports
cluster.py      TF_CONFIG and CLUSTER_SPEC
variables.py    $(NAME) in arguments and variables
logs.py         logs of replicas
images.py       the local environment that stands for a container image
  oci.py          an OCI image layout, unpacked
  container.py    runs a program in such an image, with runc
program.py      local_gcp's own programs as runs
"""

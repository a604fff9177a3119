"""Endpoints: models deployed as real serving processes, and predictions from them.

endpoint_service.py   EndpointService: endpoints, their deployed models, their traffic
  request.py      checks requests
  traffic.py      the traffic split
fleet.py        starts, watches, restarts, scales, drains and ends the serving processes
  processes.py    their folders, logs, ports and programs
  scaling.py      their number
  deployment.py   a deployed model and its replicas: stored and transient state
  container.py    the program of a model's replicas
  health.py       health checks of replicas
  replica_call.py one HTTP request to a replica
prediction.py   PredictionService: predict, raw predict, explain
  values.py       google.protobuf.Value as JSON
  explain.py      sampled Shapley attributions
  rest.py         the same over REST
  usage.py        what was asked, for Cloud Monitoring's metrics
servers/        the model servers of local_gcp's own
"""

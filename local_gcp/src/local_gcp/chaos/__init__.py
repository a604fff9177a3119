"""Fault injection, `local-gcp chaos`: requests that are slow, refused, or lose their response.

storm        the rules, stored in the home, and their decision for each request
grpc_faults  applies them to gRPC calls
rest_faults  applies them to HTTP requests
"""

"""A storm: requests that are slow, refused, or executed and not answered. `local-gcp chaos`.

storm        the rules, kept in the home, and what they decide for each request
grpc_faults  what that means for a gRPC call
rest_faults  what that means for an HTTP request
"""

"""The parts of trainer.serve: request -> instances -> batch -> model -> predictions.

`service` is the page to start with: it is the way of one request, top to bottom. Only `model`
imports TensorFlow, and only when it loads: the port answers from the first second, and what is
wrong with the flags is said at once.
"""

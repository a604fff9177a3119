"""The parts of trainer.serve: request -> instances -> batch -> model -> predictions.

Start with `prediction_service`: it shows the path of one request from top to bottom. Only `model`
imports TensorFlow, and only when it loads a model, so the port answers from the first second and a
wrong flag is reported at once.
"""

"""local_gcp's model servers.

model_http.py   Vertex AI's contract with a serving container, over HTTP
savedmodel.py   emulates Google's pre-built TensorFlow prediction images
automl.py       serves models that AutoML trained here
"""

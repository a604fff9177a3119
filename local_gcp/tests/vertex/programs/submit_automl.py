"""Starts an AutoML training over images of a manifest, or tells what became of it.

submit_automl.py start BUCKET       prints the pipeline's name
submit_automl.py model PIPELINE     prints its state and its model's description
"""

import sys

from google.cloud import aiplatform_v1 as api

from tests.vertex import cases


class Clients:
    """The clients that `cases` takes."""

    parent = "projects/local-gcp/locations/us-central1"

    def __init__(self):
        options = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
        self.datasets = api.DatasetServiceClient(client_options=options)
        self.pipelines = api.PipelineServiceClient(client_options=options)
        self.models = api.ModelServiceClient(client_options=options)


if __name__ == "__main__":
    action, name = sys.argv[1:]
    clients = Clients()
    if action == "start":
        dataset = cases.create_dataset(clients, bucket=name, images=True)
        print(cases.start(clients, cases.image_pipeline(dataset)))
    else:
        pipeline = clients.pipelines.get_training_pipeline(name=name)
        model = clients.models.get_model(name=pipeline.model_to_upload.name)
        print(pipeline.state.name, model.description)

"""Vertex AI Experiments through Google's SDK: observe_experiments.py EXPERIMENT."""

import sys
from typing import Any

from google.cloud import aiplatform
from google.cloud import aiplatform_v1 as api
from observing import PROJECT, REGION, client, fields, show

EXPERIMENT = sys.argv[1]
aiplatform.init(
    project=PROJECT, location=REGION, experiment=EXPERIMENT, experiment_tensorboard=False
)
aiplatform.start_run("first")
aiplatform.log_params({"units": 391})
aiplatform.log_metrics({"accuracy": 0.5})
aiplatform.end_run()
metadata = client(api.MetadataServiceClient)
store = f"projects/{PROJECT}/locations/{REGION}/metadataStores/default"
context = metadata.get_context(name=f"{store}/contexts/{EXPERIMENT}-first")
shown = fields(context)
found: dict[str, Any] = {
    "run: id of its context": context.name.rpartition("/")[2].replace(EXPERIMENT, "<experiment>"),
    "run: type and state": [shown["schemaTitle"], shown["metadata"]["_state"]],
    "run: type of a whole number among the parameters": type(
        shown["metadata"]["_params"]["units"]
    ).__name__,
}
show(found)

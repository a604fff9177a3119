"""Google's SDK on endpoints: `sdk_endpoints.py BUCKET`. Prints, as JSON, what it was answered.

The container is programs/model_server.py; its image is whatever the SDK samples use.
"""

import json
import sys
from pathlib import Path

from google.cloud import aiplatform, storage

IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"
SERVER = str(Path(__file__).with_name("model_server.py"))


def upload(name):
    return aiplatform.Model.upload(
        display_name=name,
        artifact_uri=f"gs://{BUCKET}/model",
        serving_container_image_uri=IMAGE,
        serving_container_command=["python3", SERVER],
        serving_container_environment_variables={"NAME": name},
        serving_container_predict_route="/predict",
        serving_container_health_route="/health",
        serving_container_ports=[8080],
    )


def shown(endpoint):
    """The share of each model, by name."""
    names = {model.id: model.display_name for model in endpoint.list_models()}
    return {names[key]: share for key, share in endpoint.traffic_split.items() if share}


if __name__ == "__main__":
    (BUCKET,) = sys.argv[1:]
    storage.Client().create_bucket(BUCKET).blob("model/weights").upload_from_string("1")
    aiplatform.init(project="local-gcp", location="us-central1")
    champion, challenger = upload("champion"), upload("challenger")
    endpoint = aiplatform.Endpoint.create(display_name=BUCKET, labels={"experiment": BUCKET})
    answer = {}
    endpoint.deploy(champion, machine_type="n1-standard-2", traffic_percentage=100)
    answer["first"] = shown(endpoint)
    endpoint.deploy(
        challenger,
        machine_type="n1-standard-2",
        min_replica_count=1,
        max_replica_count=2,
        traffic_percentage=10,
        deployed_model_display_name="canary",
    )
    answer["canary"] = shown(endpoint)
    ids = {model.display_name: model.id for model in endpoint.list_models()}
    endpoint.update(traffic_split={ids["canary"]: 100, ids["champion"]: 0})
    answer["shifted"] = shown(endpoint)
    prediction = endpoint.predict(instances=[1, 2], parameters={"top": 1})
    answer["predict"] = {
        "doubles": [p["double"] for p in prediction.predictions],
        "model": prediction.predictions[0]["model"],
        "metadata": prediction.metadata,
        "deployed": prediction.deployed_model_id == ids["canary"],
        "resource": prediction.model_resource_name == challenger.resource_name,
    }
    raw = endpoint.raw_predict(b"abc", headers={"Content-Type": "text/plain"})
    answer["raw"] = [raw.status_code, raw.text, raw.headers["X-Vertex-AI-Model-Version-Id"]]
    raw = endpoint.predict(instances=[4], use_raw_predict=True)
    answer["use_raw_predict"] = raw.predictions[0]["double"]
    endpoint.undeploy(ids["champion"])
    answer["undeployed"] = [model.display_name for model in endpoint.list_models()]
    found = aiplatform.Endpoint.list(filter=f'labels.experiment="{BUCKET}"')
    answer["found"] = [other.resource_name == endpoint.resource_name for other in found]
    answer["none"] = len(aiplatform.Endpoint.list(filter='display_name="no such"'))
    endpoint.undeploy_all()
    answer["left"] = [model.display_name for model in endpoint.list_models()]
    endpoint.delete()
    answer["deleted"] = len(aiplatform.Endpoint.list(filter=f'labels.experiment="{BUCKET}"'))
    print(json.dumps(answer))

"""Models of containers, endpoints and predictions: observe_serving.py BUCKET."""

import sys
from pathlib import Path
from typing import Any

from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format, struct_pb2
from observing import (
    ENDPOINTS,
    IMAGE,
    MACHINE,
    MODELS,
    PARENT,
    PREDICTIONS,
    accepted,
    client,
    fields,
    operation,
    response,
    serving,
    shape,
    show,
    tried,
    upload,
)

BUCKET = sys.argv[1]
SERVER = str(Path(__file__).with_name("observed_server.py"))
upload(BUCKET, **{"model/saved_model.pb": "weights"})
models, endpoints, predictions = client(MODELS), client(ENDPOINTS), client(PREDICTIONS)
found: dict[str, Any] = {}


def upload_model(**more: Any) -> Any:
    sent = {
        "display_name": "observed",
        "artifact_uri": f"gs://{BUCKET}/model",
        "container_spec": serving(SERVER),
        **more,
    }
    return models.upload_model(parent=PARENT, model=sent)


started = upload_model(
    version_aliases=["logistic_reg", "experimental"],
    version_description="first",
    labels={"team": "vision"},
)
found["UploadModel: operation"] = operation(started)
found["UploadModel: response"] = shape(response(started))
name = started.result().model
model = models.get_model(name=f"{name}@1")
found["GetModel of a version: name"] = shape(model.name)
shown = fields(model)
for field in ("supportedDeploymentResourcesTypes", "supportedInputStorageFormats"):
    found[f"uploaded model: {field}"] = shown[field]
for field in ("supportedOutputStorageFormats", "modelSourceInfo", "versionAliases", "labels"):
    found[f"uploaded model: {field}"] = shown[field]
found["uploaded model: versionDescription"] = shown["versionDescription"]
found["uploaded model: empty fields"] = [f for f in ("predictSchemata", "metadata") if f in shown]
found["uploaded model: artifactUri is the client's"] = (
    shown["artifactUri"].rstrip("/") == f"gs://{BUCKET}/model"
)
found["uploaded model: times"] = {
    "versionCreateTime = createTime": shown["versionCreateTime"] == shown["createTime"],
    "versionUpdateTime = updateTime": shown["versionUpdateTime"] == shown["updateTime"],
}

started = endpoints.create_endpoint(
    parent=PARENT,
    endpoint={"display_name": f"{BUCKET}-05", "labels": {"series": "05"}},
)
found["CreateEndpoint: operation"] = operation(started)
found["CreateEndpoint: response"] = shape(response(started))
endpoint = started.result().name
found["names: project of an endpoint created by the project's id"] = (
    "number" if endpoint.split("/")[1].isdigit() else "id"
)
found["ListEndpoints: filter by label and display name"] = len(
    list(
        endpoints.list_endpoints(
            request={
                "parent": PARENT,
                "filter": f'labels.series=05 AND display_name="{BUCKET}-05"',
            }
        )
    )
)
found["CreateEndpoint: dedicated_endpoint_enabled"] = accepted(
    lambda: endpoints.create_endpoint(
        parent=PARENT, endpoint={"display_name": "observed", "dedicated_endpoint_enabled": True}
    )
)


def deploy(split: dict[str, int], of: str = name, **more: Any) -> Any:
    replicas = {"machine_spec": MACHINE, "min_replica_count": 1, "max_replica_count": 1}
    deployed = {"model": of, "dedicated_resources": replicas, **more}
    return endpoints.deploy_model(
        endpoint=endpoint, deployed_model=deployed, traffic_split=split, timeout=60
    )


def traffic() -> dict[str, int]:
    return dict(endpoints.get_endpoint(name=endpoint).traffic_split)


def named(split: dict[str, int]) -> dict[str, int]:
    return {names[number]: share for number, share in split.items()}


started = deploy({"0": 100}, display_name="old")
found["DeployModel: operation"] = operation(started)
found["DeployModel: response"] = shape(response(started))
old = started.result().deployed_model.id
names = {old: "old"}
found["DeployModel: digits of the id"] = len(old)
found["traffic after the first deployment"] = named(traffic())
new = deploy({"0": 0, old: 100}, display_name="new").result(timeout=120).deployed_model.id
names[new] = "new"
found["traffic after a deployment with 0 %"] = named(traffic())
changed = {"name": endpoint, "traffic_split": {old: 0, new: 100}}
mask = {"update_mask": {"paths": ["traffic_split"]}}
endpoints.update_endpoint(request={"endpoint": changed, **mask})
found["traffic after an update with a 0"] = named(traffic())
(deployed, *_) = fields(endpoints.get_endpoint(name=endpoint))["deployedModels"]
found["deployed model: fields"] = sorted(deployed)
found["deployed model: dedicatedResources"] = sorted(deployed["dedicatedResources"])
found["deployed model: model"] = shape(deployed["model"])
(reference, *_) = fields(models.get_model(name=name))["deployedModels"]
found["model: deployedModels"] = shape({**reference, "deployedModelId": "/<id>"})
answer = predictions.predict(endpoint=endpoint, instances=[struct_pb2.Value(number_value=2)])
found["Predict: fields"] = shape(
    {
        "fields": sorted(fields(answer)),
        "digits of deployedModelId": len(answer.deployed_model_id),
        "modelVersionId": answer.model_version_id,
        "model": answer.model,
    }
)
started = endpoints.undeploy_model(endpoint=endpoint, deployed_model_id=old)
found["UndeployModel: operation"] = operation(started)
found["UndeployModel: response"] = response(started)
found["traffic after a model with 0 % was undeployed"] = named(traffic())
endpoints.undeploy_model(endpoint=endpoint, deployed_model_id=new).result(timeout=60)

EXPLAINED = {
    "parameters": {"sampledShapleyAttribution": {"pathCount": 2}},
    "metadata": {
        "inputs": {"a": {"inputBaselines": [1]}, "b": {"inputBaselines": [1]}},
        "outputs": {"value": {}},
    },
}
wanted = api.ExplanationSpec()
json_format.ParseDict(EXPLAINED, api.ExplanationSpec.pb(wanted))
explained = deploy({"0": 100}, explanation_spec=wanted).result(timeout=120).deployed_model.id
instance = struct_pb2.Value()
instance.struct_value.update({"a": 1, "b": 2})
found["Explain: fields of an attribution"] = tried(
    lambda: sorted(
        fields(predictions.explain(endpoint=endpoint, instances=[instance]))["explanations"][0][
            "attributions"
        ][0]
    )
)
found["Explain: featureAttributions"] = tried(
    lambda: sorted(
        fields(predictions.explain(endpoint=endpoint, instances=[instance]))["explanations"][0][
            "attributions"
        ][0]["featureAttributions"]
    )
)
endpoints.undeploy_model(endpoint=endpoint, deployed_model_id=explained).result(timeout=60)

ends = {"image_uri": IMAGE, "command": ["python", "-c", "raise SystemExit(1)"]}
broken = upload_model(container_spec=ends).result().model
found["DeployModel of a container that ends"] = tried(
    lambda: deploy({"0": 100}, of=broken).result(timeout=120)
)
found["DeleteModel: operation"] = operation(models.delete_model(name=broken))
found["DeleteEndpoint: operation"] = operation(endpoints.delete_endpoint(name=endpoint))
show(found)

"""The serving programs of local_gcp's own, behind an endpoint."""

import base64
import subprocess
from pathlib import Path

import pytest
from google.api_core import exceptions

from tests.vertex import cases

ROOT = Path(__file__).parents[4]
AUTOMATIC = {"automatic_resources": {"min_replica_count": 1, "max_replica_count": 1}}
SAVED_MODEL = """
import sys
import tensorflow as tf

class Module(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x")])
    def serve(self, x):
        return {"total": tf.reduce_sum(x, 1), "double": 2 * x}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "image_bytes")])
    def length(self, image_bytes):
        return {"length": tf.strings.length(image_bytes)}

module = Module()
tf.saved_model.save(
    module, sys.argv[1], {"serving_default": module.serve, "length": module.length}
)
"""


@pytest.mark.slow
def test_automl_tables(vertex, until, home, deploy, predict):
    cases.write_table(home.buckets / "cells")
    dataset = cases.create_dataset(vertex, "cells")
    _, model = cases.train(vertex, until, cases.tabular_pipeline(dataset))
    deploy(model.name, {"0": 100})
    (large,) = predict({"size": "9.5", "shape": "a", "of no use": 1})
    assert large["scores"][large["classes"].index("malignant")] > 0.9
    with pytest.raises(exceptions.InvalidArgument, match="have no column shape"):
        predict({"size": 1})


@pytest.mark.slow
def test_automl_images(vertex, until, home, endpoint, deploy, predict):
    cases.write_images(home.buckets / "pictures")
    dataset = cases.create_dataset(vertex, "pictures", images=True)
    _, model = cases.train(vertex, until, cases.image_pipeline(dataset))
    resources = AUTOMATIC["automatic_resources"]
    vertex.endpoints.deploy_model(
        endpoint=endpoint,
        deployed_model={"model": model.name, "automatic_resources": resources},
        traffic_split={"0": 100},
    ).result(timeout=60)
    content = base64.b64encode((home.buckets / "pictures/1.png").read_bytes()).decode()
    (answer,) = predict({"content": content}, parameters={"maxPredictions": 1})
    assert answer["displayNames"] == ["red"]
    with pytest.raises(exceptions.InvalidArgument, match=r"instances\[0\]: cannot identify image"):
        predict({"content": base64.b64encode(b"text").decode()})


@pytest.mark.slow
def test_a_saved_model_in_googles_image(vertex, home, endpoint, predict):
    folder = home.buckets / "bucket/saved"
    python = ROOT / ".venv/trainer/bin/python"
    subprocess.run([python, "-c", SAVED_MODEL, str(folder)], check=True, capture_output=True)
    image = "us-docker.pkg.dev/vertex-ai/prediction/tf2-cpu.2-15:latest"
    sent = {
        "display_name": "sums",
        "artifact_uri": "gs://bucket/saved",
        "container_spec": {"image_uri": image},
    }
    model = vertex.models.upload_model(parent=vertex.parent, model=sent).result(timeout=60).model
    resources = {"machine_spec": {"machine_type": "n1-standard-4"}, "min_replica_count": 1}
    vertex.endpoints.deploy_model(
        endpoint=endpoint,
        deployed_model={"model": model, "dedicated_resources": resources},
        traffic_split={"0": 100},
    ).result(timeout=120)
    assert predict([1, 2], [3, 4]) == [
        {"total": 3, "double": [2, 4]},
        {"total": 7, "double": [6, 8]},
    ]
    assert predict({"x": [0.5, 1]}) == [{"total": 1.5, "double": [1, 2]}]
    for wrong, words in (
        ([1, 2, 3], r"has the shape \(1, 3\), expected \(None, 2\)"),
        ({"y": [1, 2]}, "missing key: x"),
        (["a", "b"], "Failed to process key x as float32"),
    ):
        with pytest.raises(exceptions.InvalidArgument, match=words):
            predict(wrong)

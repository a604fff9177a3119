"""A model of another library, and an ensemble, are served like a network: rolled back to one, and
forward again.
"""

import json
import os
import subprocess

import numpy as np
import pytest
from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format, struct_pb2

from tests.airflow_side import ROOT
from tests.trellis.workflow.stages.rollback.conftest import OPTIONS
from trellis_contracts import job_image

PYTHON = ROOT / ".venv/trainer/bin/python"


@pytest.fixture
def trained(tmp_path):
    """What train_three.py prints, and the folder that it leaves."""
    module = "tests.trellis.workflow.stages.rollback.train_three"
    done = subprocess.run(
        [PYTHON, "-m", module, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return tmp_path, json.loads(done.stdout.splitlines()[-1])


def served_by(registry, image):
    """The container of one of our images, as a run registers it."""
    return {
        "image_uri": registry.platform.image(image, job_image.TAG),
        "command": job_image.COMMANDS["serve"].argv,
        "ports": [{"container_port": 8080}],
        "health_route": "/health",
        "predict_route": "/predict",
    }


def answers(registry, instances):
    """Probabilities of the endpoint, (n, classes)."""
    client = api.PredictionServiceClient(client_options=OPTIONS)
    sent = [json_format.ParseDict(one, struct_pb2.Value()) for one in instances]
    found = client.predict(endpoint=registry.endpoint_name, instances=sent, timeout=60)
    given = [one["probabilities"] for one in found.predictions]
    # A message's map has no order.
    return np.array([[one[name] for name in sorted(one)] for one in given])


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("champion", ["forest", "ensemble"])
def test_it_is_rolled_back_to_a_network_and_forward_again(registry, trained, champion):
    """Each by the image that has its library, and each answers as it predicted the test split."""
    folder, expected = trained
    folders = {"keras": "training/1", "forest": "training/2", "ensemble": "training/ensemble"}
    served = {"previous": ("keras", "serve"), "champion": (champion, "trainer")}
    for alias, (name, image) in served.items():
        files = folder / folders[name] / "model"
        registry.upload(alias, files=files, container=served_by(registry, image))
    registry.create_endpoint()
    registry.deploy("2").result(timeout=300)

    def check(version, name):
        assert registry.traffic == {version: 100}
        assert registry.aliases["champion"] == version
        found = answers(registry, expected["instances"])
        np.testing.assert_allclose(found, expected[name], atol=1e-5)

    check("2", champion)
    assert registry.run().state == "success"
    check("1", "keras")
    assert registry.run().state == "success"
    check("2", champion)

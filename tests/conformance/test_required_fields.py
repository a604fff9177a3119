"""Fields that Google's documents call "Required." in a Vertex AI resource are required here too."""

import json
import re
from pathlib import Path

from tests.conformance import discovery

PROGRAM = Path(__file__).parent / "programs/required_fields.py"
MESSAGES = ("CustomJob", "HyperparameterTuningJob", "BatchPredictionJob", "Endpoint", "Model")


def required(message):
    """Names in snake_case."""
    schema = discovery.schema("aiplatform.v1", f"GoogleCloudAiplatformV1{message}")
    told = (n for n, s in schema["properties"].items() if s["description"].startswith("Required."))
    return [re.sub("[A-Z]", lambda c: f"_{c[0].lower()}", name) for name in told]


def test_each_required_field_is_missed(local_gcp):
    fields = {message: required(message) for message in MESSAGES}
    assert fields["CustomJob"] == ["display_name", "job_spec"]
    codes = json.loads(local_gcp.run(PROGRAM, json.dumps(fields)))
    assert len(codes) == sum(map(len, fields.values()))
    assert {name: code for name, code in codes.items() if code != "INVALID_ARGUMENT"} == {}

"""Google's SDK on endpoints, unchanged, through the door."""

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("programs") / "sdk_endpoints.py"


@pytest.mark.slow
def test_sdk(local_gcp):
    out = local_gcp.run(PROGRAM, "sdk-endpoints", environment="airflow")
    assert json.loads(out.splitlines()[-1]) == {
        "first": {"champion": 100},
        "canary": {"champion": 90, "canary": 10},
        "shifted": {"canary": 100},
        "predict": {
            "doubles": [2, 4],
            "model": "challenger",
            "metadata": {"top": 1},
            "deployed": True,
            "resource": True,
        },
        "raw": [200, "cba", "1"],
        "use_raw_predict": 8,
        "undeployed": ["canary"],
        "found": [True],
        "none": 0,
        "left": [],
        "deleted": 0,
    }

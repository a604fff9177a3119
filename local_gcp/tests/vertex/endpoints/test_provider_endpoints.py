"""The Airflow provider's own endpoint operators, through the door."""

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("programs") / "provider_endpoints.py"


@pytest.mark.slow
def test_provider_operators(local_gcp):
    out = local_gcp.run(PROGRAM, "provider-endpoints", environment="airflow")
    answer = json.loads(out.splitlines()[-1])
    assert len(answer["states"]) == 9
    assert set(answer["states"].values()) == {"success"}
    (endpoint,) = answer["listed"]
    (deployed,) = endpoint["deployed_models"]
    assert endpoint["traffic_split"] == {deployed["id"]: 100}
    assert endpoint["labels"] == {"experiment": "provider-endpoints", "stage": "live"}
    traffic, region = answer["refused"]
    assert traffic.startswith("400 ")
    assert "endpoint.traffic_split; " in traffic
    assert "add up to 99" in traffic
    assert region.startswith("501 ")
    assert "no region 'mars-north1'" in region

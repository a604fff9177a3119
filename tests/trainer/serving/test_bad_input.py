"""Requests that no client should send to a deployed endpoint, and their errors."""

import json
import shutil
from pathlib import Path

import pytest

from testbed.tables import mixed_rows

PROGRAM = Path(__file__).with_name("programs") / "ask_endpoint.py"
BUCKET = "bad-input"


@pytest.mark.slow
@pytest.mark.parametrize("row_model_folder", ["binary_classification"], indirect=True)
def test_each_is_refused_by_name_and_no_other_request_is_lost(
    local_gcp, model_folder, row_model_folder
):
    folder = local_gcp.buckets / BUCKET
    shutil.copytree(model_folder, folder / "images")
    shutil.copytree(row_model_folder, folder / "rows")
    columns, _ = mixed_rows(60)
    row = {name: values[0] for name, (_, values) in columns.items()}
    row |= {name: "2024-02-29" for name, (kind, _) in columns.items() if kind == "timestamp"}
    (folder / "row.json").write_text(json.dumps(row))
    answer = json.loads(local_gcp.run(PROGRAM, BUCKET, environment="local_gcp").splitlines()[-1])
    number, told = answer["number"], answer["told"]
    expected = {
        "not JSON": (400, "Invalid JSON payload received"),
        "nested lists": (400, "nested too deeply"),
        "wrong type": ("InvalidArgument", f"instances[1].{number}: expected a number"),
        "missing": ("InvalidArgument", f"instances[0].{number}: missing"),
        "extra": ("InvalidArgument", "instances[1].another: not a feature of this model"),
        "2,000 instances": ("InvalidArgument", "expected 1 to 256 instances, got 2000"),
        "NaN": (400, f"instances[1].{number}: NaN is not a number of JSON"),
        "NaN by gRPC": ("InvalidArgument", f"instances[1].{number}: expected a number"),
        "empty": ("InvalidArgument", "expected 1 to 256 instances, got 0"),
        "parameters": (400, "parameters.k: unknown"),
        "50 megapixels": ("InvalidArgument", "instances[1].image: 10000 x 5000 pixels are"),
        "text named .jpg": ("InvalidArgument", "instances[1].image: not an image"),
        "text as base64": ("InvalidArgument", "instances[0].image: not an image"),
        "2 MB": (400, "exceeds 1.500MB limit"),
    }
    assert told.keys() == expected.keys()
    for name, (code, words) in expected.items():
        assert told[name][0] == code, told[name]
        assert words in told[name][1]
    assert len(answer["good"]) > 10
    assert {json.dumps(one) for one in answer["good"]} == {'["OK", 1]'}

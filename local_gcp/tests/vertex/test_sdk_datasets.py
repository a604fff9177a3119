"""Google's SDK over managed datasets: AutoML, custom training, batch prediction."""

import json
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("programs")


@pytest.mark.slow  # the SDK looks at its jobs every 5 s
def test_sdk(local_gcp, tmp_path):
    program, serve = PROGRAMS / "sdk_datasets.py", PROGRAMS / "serve.py"
    out = local_gcp.run(program, "sdk_datasets", str(tmp_path), str(serve), environment="airflow")
    answer = json.loads(out.splitlines()[-1])

    assert answer["columns"] == [
        "ml_use", "petal_length", "petal_width", "sepal_length", "sepal_width", "species",
    ]  # fmt: skip
    assert answer["features"] == ["petal_length", "petal_width", "sepal_length", "sepal_width"]
    assert answer["auRoc"] > 0.95
    assert answer["iris"] == 150
    assert answer["files"] == [
        "prediction.errors_stats-00000-of-00001",
        "prediction.results-00000-of-00001",
    ]
    assert answer["numbers"] == [[1, 2.5, "7.0"], [3, 4.0, "14.0"]]
    assert answer["colours"] == ["blue", "red", "blue", "red"]
    assert answer["images"] == ["colours"]
    assert answer["tables"] == ["table"], "the other one was deleted"

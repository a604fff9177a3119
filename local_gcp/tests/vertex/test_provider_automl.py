"""The Airflow provider's operators for datasets, AutoML and batch prediction, through the door."""

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("programs") / "provider_automl.py"


@pytest.mark.slow
def test_provider_operators(local_gcp):
    out = local_gcp.run(PROGRAM, "provider_automl", environment="airflow")
    answer = json.loads(out.splitlines()[-1])

    assert set(answer["states"].values()) == {"success"}, answer["states"]
    assert answer["returned"]["import"] == {"total_data_items_imported": 2}
    assert answer["returned"]["train"]["description"].startswith("A local emulation of AutoML")
    assert len(answer["predicted"]) == 2
    for table in answer["predicted"]:
        rows = {row["key"]: row for row in table}
        assert sorted(rows, key=lambda key: int(key[1:])) == [f"k{n}" for n in range(80)]
        right = 0
        for row in rows.values():
            predicted = row["predicted_label"]
            assert predicted["classes"] == ["benign", "malignant"]
            right += row["label"] == predicted["classes"][predicted["scores"][1] > 0.5]
        assert right > 70
    evaluated = answer["evaluated"]
    assert len(evaluated) == 20, "the test set"
    assert evaluated[0]["predicted_label"]["classes"] == ["benign", "malignant"]
    kinds = {job["display_name"]: job["kind"] for job in local_gcp.status()["jobs"]}
    assert kinds["wait"] == "batch"
    assert "deferred" not in kinds, "it was deleted"

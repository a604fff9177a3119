"""What a program reads of its dataset."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from trellis_contracts.program.inputs import Job


def test_rows_are_the_examples_of_a_split(tmp_path):
    """Neither a row with an unusable image, nor a manifest's line that repeats an example's key."""
    columns = {
        "key": ["a", "b", "c", "b", "d"],
        "split": ["test", "test", "test", "test", "train"],
        "label": ["x", "y", "x", "y", "x"],
        "image": [f"gs://b/{n}.png" for n in range(5)],
        "rejected": pa.array([None, None, None, "repeated", None], pa.string()),
    }
    (tmp_path / "source").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "source/rows-000000000000.parquet")
    lines = [{"key": "c", "split": "test"}, {"key": "b", "split": ""}]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (tmp_path / "rejected.jsonl").write_text(text)
    job = Job(str(tmp_path), "binary_classification", "auc", epochs=1, seed=0, whole=True)
    found = job.rows("test")
    assert found["key"].to_pylist() == ["a", "b"]
    assert found.column_names == ["key", "label", "image"]

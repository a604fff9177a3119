"""What a program reads of its dataset."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from testbed import tfrecords
from tests.contracts.datasets import IMAGE, dataset
from trellis_contracts import VERSION, job_image
from trellis_contracts.program import inputs, outputs
from trellis_contracts.program.inputs import Job
from trellis_contracts.workers import Workers

ALONE = {"workerpool0": ["a:2222"]}
THREE = {"workerpool0": ["a:2222"], "workerpool1": ["b:2222", "c:2222"]}


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
    found = a_job(tmp_path).rows("test")
    assert found["key"].to_pylist() == ["a", "b"]
    assert found.column_names == ["key", "label", "image"]


def test_records_are_the_examples_of_a_split_with_their_images(tmp_path):
    """In the order of the files; dataset.json names the feature that holds an image."""
    described = dataset(IMAGE)
    files = [["a", "b"], ["c"]]
    for place, keys in enumerate(files):
        rows = [
            {"key": [key.encode()], "image": [f"PNG of {key}".encode()], "label": [place]}
            for key in keys
        ]
        shard = {"name": f"test-{place}.tfrecord", "examples": len(keys), "bytes": 1}
        (tmp_path / shard["name"]).write_bytes(tfrecords.records(rows))
        described["files"]["test"].append(shard)
    (tmp_path / "dataset.json").write_text(json.dumps(described))
    job = a_job(tmp_path)
    (image,) = job.description().features
    names = ("key", image.record_name, "label")
    found = [tuple(one[name] for name in names) for one in job.records("test")]
    assert found == [
        ([b"a"], [b"PNG of a"], [0]),
        ([b"b"], [b"PNG of b"], [0]),
        ([b"c"], [b"PNG of c"], [1]),
    ]
    assert [*job.records("train")] == []
    (tmp_path / "test-1.tfrecord").write_bytes(b"damaged file")
    with pytest.raises(ValueError, match=r"test-1\.tfrecord: damaged length"):
        [*job.records("test")]


def a_job(folder):
    return Job(str(folder), "binary_classification", "auc", epochs=1, seed=0, whole=True)


def cluster(pools, pool, index):
    """CLUSTER_SPEC of a replica, as Vertex AI writes it."""
    task = {"type": pool, "index": index, "trial": None}
    return json.dumps({"cluster": pools, "task": task, "environment": "cloud"})


@pytest.mark.parametrize(
    ("pools", "pool", "index", "rank"),
    [
        (ALONE, "workerpool0", 0, 0),
        (THREE, "workerpool0", 0, 0),
        (THREE, "workerpool1", 0, 1),
        (THREE, "workerpool1", 1, 2),
    ],
)
def test_workers_are_those_of_the_job(tmp_path, monkeypatch, pools, pool, index, rank):
    monkeypatch.setenv("CLUSTER_SPEC", cluster(pools, pool, index))
    addresses = tuple(address for members in pools.values() for address in members)
    assert a_job(tmp_path).workers == Workers(addresses, rank)


def test_outside_of_a_job_there_is_one_worker(tmp_path, monkeypatch):
    monkeypatch.delenv("CLUSTER_SPEC", raising=False)
    assert len(a_job(tmp_path).workers) == 1


@pytest.mark.parametrize("text", ["{", "[]", "{}", cluster(THREE, "workerpool2", 0)])
def test_a_cluster_of_another_form_is_refused_by_name(tmp_path, monkeypatch, text):
    monkeypatch.setenv("CLUSTER_SPEC", text)
    with pytest.raises(ValueError, match="CLUSTER_SPEC is of another form"):
        a_job(tmp_path).workers  # noqa: B018


def test_the_first_worker_alone_writes(tmp_path, monkeypatch):
    monkeypatch.setenv("CLUSTER_SPEC", cluster(THREE, "workerpool1", 1))
    figures = {"auc": 1.0, "loss": 0.0}
    with pytest.raises(ValueError, match="the first alone"):
        outputs.write(
            a_job(tmp_path),
            [],
            np.empty((0, 2)),
            validation=figures,
            seconds=1,
            hyperparameters={},
        )


FLAGS = {
    "dataset": "gs://b/d/",
    "task": "regression",
    "metric": "rmse",
    "epochs": "3",
    "seed": "1",
    "outputs": "all",
    "depth": "4",
}


def test_flags_are_those_of_the_job_and_its_hyperparameters(monkeypatch):
    monkeypatch.setenv(job_image.STARTED_BY, VERSION)
    found = inputs.job([f"--{name}={value}" for name, value in FLAGS.items()])
    assert (found.dataset, found.metric, found.epochs, found.whole) == (
        "gs://b/d/",
        "rmse",
        3,
        True,
    )
    assert found.hyperparameters == {"depth": "4"}


def test_a_job_of_another_release_ends_before_its_flags_are_read(monkeypatch):
    monkeypatch.setenv(job_image.STARTED_BY, "7.1.0")
    with pytest.raises(SystemExit) as ended:
        inputs.job(["--of-another-release"])
    assert ended.value.code == job_image.other_release("7.1.0")

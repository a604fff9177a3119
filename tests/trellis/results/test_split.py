"""`trellis export-split`: a run's frozen rows, for whoever trains elsewhere."""

import io
import json

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.contracts.datasets import IMAGE, dataset
from tests.trellis.results.made import a_board, a_run
from trellis.__main__ import main
from trellis.results import split
from trellis.results.selection import NoRunError
from trellis_contracts.plan import PlanFile


@pytest.fixture
def plan(run, client):
    """The plan of a run on a table."""
    bucket, _, folder = run.removeprefix("gs://").partition("/")
    text = client.bucket(bucket).blob(f"{folder}plan.json").download_as_bytes()
    return PlanFile.parse(text, "plan.json")


def test_the_rows_are_under_their_names_in_the_source_the_test_split_without_labels(
    plan, client, tmp_path
):
    lines = split.export(client, plan, tmp_path / "rows", answers=False)
    found = {p.stem: pd.read_parquet(p) for p in (tmp_path / "rows").glob("*.parquet")}
    assert list(found["train"]) == ["key", "age at visit", "site", "label"]
    assert list(found["test"]) == ["key", "age at visit", "site"]
    assert found["test"]["key"].tolist() == [f"k{n}" for n in range(6)]
    assert found["test"]["age at visit"].isna().sum() == 1
    assert found["train"]["key"].tolist() == ["other"]
    assert len(found["validation"]) == 0
    assert (tmp_path / "rows/dataset.json").exists()
    assert lines[2].endswith("test.parquet: 6 rows, without labels")


def test_labels_of_the_test_split_are_there_if_asked_for(plan, client, tmp_path):
    split.export(client, plan, tmp_path, answers=True)
    assert pq.read_schema(tmp_path / "test.parquet").names[-1] == "label"


def test_the_command_takes_a_run_and_the_newest_of_an_experiment(
    run, digits, add, dags, bucket, tmp_path, capsys
):
    add(a_run(digits, "r", a_board(), bucket=bucket))
    where = ["--platform", str(dags)]
    assert main(["export-split", "digits/r", "--to", str(tmp_path / "rows"), *where]) == 0
    assert "test.parquet: 6 rows, without labels" in capsys.readouterr().out
    again = str(tmp_path / "labelled")
    assert main(["export-split", "digits", "--to", again, "--test-labels", *where]) == 0
    assert pq.read_schema(tmp_path / "labelled/test.parquet").names[-1] == "label"
    assert main(["export-split", "digits", "--to", again, *where]) == 1
    assert "has files already" in capsys.readouterr().err


def test_images_are_written_below_their_addresses_and_only_those_of_examples(
    plan, client, bucket, put, tmp_path
):
    put("digits/datasets/3f2a/dataset.json", dataset(IMAGE))
    rows = pd.DataFrame({"key": ["a", "b", "c", "b"], "split": "test", "label": "x"})
    rows["image"] = [f"gs://{bucket}/raw/{key}.png" for key in rows["key"]]
    rows["rejected"] = pd.array([None, None, None, "repeated"], dtype="string")
    for blob in client.list_blobs(bucket, prefix="digits/datasets/3f2a/source/"):
        blob.delete()
    sink = io.BytesIO()
    rows.to_parquet(sink)
    put("digits/datasets/3f2a/source/rows-000000000000.parquet", sink.getvalue())
    lines = [{"key": "c", "split": "test"}, {"key": "b", "split": ""}]
    put("digits/datasets/3f2a/rejected.jsonl", "".join(f"{json.dumps(one)}\n" for one in lines))
    for key in "abc":
        put(f"raw/{key}.png", f"pixels of {key}")
    said = split.export(client, plan, tmp_path / "rows", answers=False, images=True)
    assert pd.read_parquet(tmp_path / "rows/test.parquet")["key"].tolist() == ["a", "b"]
    found = tmp_path / "rows/images" / bucket / "raw"
    files = {file.name: file.read_text() for file in found.iterdir()}
    assert files == {"a.png": "pixels of a", "b.png": "pixels of b"}
    assert said[-1].endswith("images: 2 images")

    client.bucket(bucket).blob("raw/a.png").delete()
    with pytest.raises(NoRunError, match=r"raw/a.png cannot be read"):
        split.export(client, plan, tmp_path / "again", answers=False, images=True)


def test_an_image_whose_name_leads_outside_of_the_folder_is_refused(client, tmp_path):
    with pytest.raises(NoRunError, match="outside"):
        split._download(client, ["gs://b/../../etc/x.png"], tmp_path)


def test_nothing_is_overwritten(plan, client, tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(NoRunError, match="has files already"):
        split.export(client, plan, tmp_path, answers=False)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_rows_that_are_gone_are_said_to_be(plan, client, bucket, tmp_path):
    for blob in client.list_blobs(bucket, prefix="digits/datasets/3f2a/source/"):
        blob.delete()
    with pytest.raises(NoRunError, match="no longer in gs://"):
        split.export(client, plan, tmp_path / "rows", answers=False)
    assert not (tmp_path / "rows").exists()

"""All runs of a group, read from a real Cloud Storage."""

from tests.trellis.results.made import a_board, a_rollback, a_run
from trellis.results import load_index, load_runs
from trellis.results.index import run_folders


def test_runs_as_data_newest_first(digits, breast_cancer, add, dags):
    add(a_run(digits, "one", created="2026-01-01T00:00:00+00:00"))
    add(a_run(digits, "two", board=a_board(), created="2026-01-02T00:00:00+00:00"))
    add(a_run(breast_cancer, "three", created="2026-01-03T00:00:00+00:00"))
    runs = load_runs(dags)
    assert [run.folder for run in runs] == ["three", "two", "one"]
    assert runs[1].result.value == 0.97
    assert [run.folder for run in load_runs(dags, "breast-cancer")] == ["three"]


def test_one_request_reads_everything(digits, client, bucket, add, monkeypatch):
    for number in range(5):
        add(a_run(digits, f"r{number}"))
    add(a_rollback(), "rollbacks")
    add(a_rollback(3, image="serve:2"), "reserves")
    asked = []
    request = client._connection.api_request
    monkeypatch.setattr(
        client._connection, "api_request", lambda **k: asked.append(k["path"]) or request(**k)
    )
    index = load_index(client, bucket)
    assert (len(index.runs), len(index.champions)) == (5, 2)
    assert asked == [f"/b/{bucket}/o"]


def test_a_record_without_metadata_is_read_from_the_object(digits, client, bucket, add):
    record = a_run(digits, board=a_board())
    add(record, metadata=False)
    assert load_index(client, bucket).runs == (record,)


def test_what_is_no_record_is_told_and_stops_nothing(digits, client, bucket, add):
    add(a_run(digits))
    for name in ("_index/digits/runs/x.json", "_index/digits/notes.txt"):
        client.bucket(bucket).blob(name).upload_from_string('{"format": 9}')
    index = load_index(client, bucket)
    assert [run.folder for run in index.runs] == ["r"]
    assert index.unreadable == ("_index/digits/runs/x.json",)


def test_a_record_counts_only_for_the_experiment_in_whose_folder_it_lies(digits, client, bucket):
    """Else who may write one experiment's files could show runs to readers of another."""
    record = a_run(digits)
    blob = client.bucket(bucket).blob("_index/other/runs/r.json")
    blob.metadata = record.metadata
    blob.upload_from_string(record.text)
    index = load_index(client, bucket)
    assert index.runs == ()
    assert index.unreadable == ("_index/other/runs/r.json",)


def test_what_belongs_to_some_experiments_under_the_names_of_their_dags(
    digits, breast_cancer, client, bucket, add
):
    add(a_run(digits))
    add(a_rollback(), "rollbacks")
    add(a_run(breast_cancer))
    client.bucket(bucket).blob("_index/digits/runs/x.json").upload_from_string("{}")
    index = load_index(client, bucket)
    one = index.named({"breast-cancer": "breast-cancer"})
    assert one.runs == tuple(run for run in index.runs if run.experiment == "breast-cancer")
    assert (one.champions, one.unreadable) == ((), ())
    other = index.named({"digits": "lab-digits"})
    assert [record.experiment for record in (*other.runs, *other.champions)] == ["lab-digits"] * 2
    assert other.unreadable == ("_index/digits/runs/x.json",)


def test_folders_of_runs_with_or_without_a_record(client, bucket):
    for name in ("a/plan.json", "a/training/1/metrics.json", "b/plan.json"):
        client.bucket(bucket).blob(f"digits/runs/{name}").upload_from_string("{}")
    assert list(run_folders(client, bucket, "digits")) == ["a", "b"]

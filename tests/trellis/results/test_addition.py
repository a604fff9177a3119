"""Runs that are not in the index."""

from tests.trellis.results.made import a_board, a_deployment, a_plan_of, a_run, write_files
from trellis.results import load_index
from trellis.results.addition import add_missing


def test_old_runs_are_added_from_their_files(google, digits, client, bucket, add):
    add(a_run(digits, "known", board=a_board()))
    for folder, files in {
        "known": (),
        "planned": (),
        "ended": (a_board(), a_deployment()),
    }.items():
        write_files(google.buckets, a_plan_of(digits, folder, bucket), *files)
    (google.buckets / bucket / "digits/runs/empty").mkdir()
    (google.buckets / bucket / "digits/runs/empty/x").write_text("")
    assert add_missing(client, bucket) == 2
    found = {run.folder: run for run in load_index(client, bucket).runs}
    assert found.keys() == {"known", "planned", "ended"}
    assert found["known"].user == "ada"
    assert found["planned"].result is None
    assert found["ended"].result.deployment.state == "serving"
    assert found["ended"].user is None
    assert add_missing(client, bucket) == 0

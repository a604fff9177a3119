"""Visibility of pages: they ask Airflow's auth manager, as Airflow's own do."""

import pytest

from tests.trellis.results.made import a_board, a_plan_of, a_run, write_files
from tests.trellis.web.conftest import BUCKET, OTHERS
from trellis.web.access import Place, Source, _source
from trellis.web.app import app

PAGES = (
    "/trellis/",
    "/trellis/experiments/digits",
    "/trellis/experiments/digits/missing",
    "/trellis/experiments/digits/runs/r",
    "/trellis/experiments/digits/runs/r/report",
    "/trellis/compare?run=digits/r&run=digits/q",
)


@pytest.fixture
def runs(google, digits, breast_cancer, add, bucket):
    """A run of each experiment, with its files, and a second one of digits."""
    for experiment, folder in ((digits, "r"), (digits, "q"), (breast_cancer, "private-run")):
        add(a_run(experiment, folder, a_board(), bucket=bucket))
        write_files(google.buckets, a_plan_of(experiment, folder, bucket), a_board())


@pytest.mark.parametrize("path", PAGES)
def test_who_is_not_signed_in_is_refused(runs, get, path):
    answer = get(None, path)
    assert answer.status_code == 401
    assert "Sign in to Airflow" in answer.text
    assert "training/1" not in answer.text
    forged = get(None, path, headers={"Authorization": "Bearer x.y.z"})
    assert forged.status_code in (401, 403)
    assert "training/1" not in forged.text


@pytest.mark.parametrize("path", PAGES)
def test_who_may_see_the_experiment_sees_its_runs(runs, get, path):
    assert get("grace", path).status_code == 200


def test_nobody_sees_an_experiment_whose_dag_is_not_theirs(runs, get):
    everything = get("ada", "/trellis/").text
    assert "private-run" in everything
    own = get("grace", "/trellis/").text
    assert "digits" in own
    assert "breast-cancer" not in own
    assert "private-run" not in own
    assert "binary_classification" not in own  # not even as a filter
    for path in (
        "/trellis/experiments/breast-cancer",
        "/trellis/experiments/breast-cancer/missing",
        "/trellis/experiments/breast-cancer/runs/private-run",
        "/trellis/experiments/breast-cancer/runs/private-run/report",
        "/trellis/compare?run=digits/r&run=breast-cancer/private-run",
    ):
        assert get("ada", path).status_code == 200
        refused = get("grace", path)
        assert refused.status_code == 404
        # As if there were none.
        other = get("grace", path.replace("breast-cancer", "nothing"))
        assert refused.text.replace("breast-cancer", "nothing") == other.text


def test_experiments_of_one_name_are_told_apart_by_their_dags(
    google, digits, client, add, bucket, get
):
    add(a_run(digits, "ours", a_board(), bucket=BUCKET))
    theirs = a_run(digits, "theirs", a_board(), bucket=OTHERS)
    client.bucket(OTHERS).blob("_index/digits/runs/theirs.json").upload_from_string(theirs.text)
    for folder, place in (("ours", BUCKET), ("theirs", OTHERS)):
        write_files(google.buckets, a_plan_of(digits, folder, place), a_board())

    own = get("grace", "/trellis/").text
    assert "ours" in own
    assert "theirs" not in own
    assert "lab-digits" not in own
    everything = get("ada", "/trellis/").text
    assert "/experiments/lab-digits/runs/theirs" in everything
    page = "/trellis/experiments/lab-digits/runs/theirs"
    shown = get("ada", page).text
    assert f"gs://{OTHERS}/digits/runs/theirs/" in shown
    assert "/dags/lab-digits" in get("ada", "/trellis/experiments/lab-digits").text
    assert get("grace", page).status_code == 404
    both = get("ada", "/trellis/compare?run=digits/ours&run=lab-digits/theirs").text
    assert "/experiments/lab-digits/runs/theirs" in both


@pytest.mark.parametrize("person", ["joan", "eve"])
def test_the_right_to_a_dag_without_its_runs_is_not_enough(runs, get, person):
    assert "none that you may see" in get(person, "/trellis/").text
    for path in PAGES[1:]:
        assert get(person, path).status_code == 404


def test_a_path_does_not_lead_out_of_the_runs_folder(google, runs, get):
    (google.buckets / BUCKET / "digits/secret").mkdir()
    (google.buckets / BUCKET / "digits/secret/plan.json").write_text("{}")
    for folder in ("..", "../secret", "../../breast-cancer/runs/private-run"):
        path = f"/trellis/compare?run=digits/r&run=digits/{folder}"
        assert get("grace", path).status_code == 404
        encoded = folder.replace("/", "%2F").replace(".", "%2E")
        answer = get("grace", f"/trellis/experiments/digits/runs/{encoded}/report")
        assert answer.status_code == 404


def test_pages_only_read():
    routes = [route for route in app.routes if hasattr(route, "methods")]
    assert len(routes) == 7
    assert {method for route in routes for method in route.methods} <= {"GET", "HEAD"}


def test_the_plans_address_says_where_an_experiments_files_are():
    told = {"plan": "gs://b/digits/runs/r/plan.json", "connection": "c"}
    assert _source("digits", told) == Source(Place("b", "c"), "digits")
    for value in (None, 3, "x", '"x"', {}, {**told, "connection": 1}, {**told, "plan": "gs://b/x"}):
        assert _source("digits", value) is None
    assert _source("lab-digits", told) == Source(Place("b", "c"), "digits")
    assert _source("other", told) is None

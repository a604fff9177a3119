"""Contents of the pages; nothing in a run's files becomes a part of the page."""

import html
import html.parser
import json
import re

import pytest

from tests.trellis.results.made import (
    SLICES,
    SPEED,
    a_board,
    a_contender,
    a_deployment,
    a_plan_of,
    a_prediction,
    a_progress,
    a_rollback,
    a_run,
    a_training,
    an_approval,
    with_cost,
    write_files,
)
from tests.wording import says
from trellis import console
from trellis.results.notes import append, note
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.record import Failure

VOID = {"meta", "link", "input", "br"}


class Page(html.parser.HTMLParser):
    """Raises AssertionError if elements are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.links = [], [], [], []
        self.feed(text)
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [v for name, v in attrs if name in ("href", "src", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def page(get):
    def page(path, person="ada", status=200):
        answer = get(person, path)
        assert answer.status_code == status, answer.text
        Page(answer.text)
        return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", answer.text)))

    return page


def test_the_page_of_a_run_has_its_slices(google, digits, add, bucket, page):
    add(a_run(digits, "r", a_board(), bucket=bucket))
    board = a_board() | {"slices": SLICES}
    write_files(google.buckets, a_plan_of(digits, "r", bucket), board)
    text = page("/trellis/experiments/digits/runs/r")
    assert "site = b 20 0.5000 [0.3000, 0.7000] -0.4500 [-0.7000, -0.2000]" in text
    assert "site = c 5 – not judged" in text  # noqa: RUF001 (an en dash in a table's cell)


def test_the_page_of_an_experiment_has_its_predictions(digits, add, bucket, page):
    add(a_run(digits, "r", a_board(), a_deployment(), bucket=bucket))
    warned = "feature 'x' has a mean 2.00 standard deviations above that of before"
    scored = a_prediction(bucket=bucket, score=(0.9, 0.85, 0.94), warnings=(warned,))
    add(scored, "predictions")
    refused = {"predicted": None, "at": "2026-01-01T00:00:00+00:00"}
    add(a_prediction("bad", bucket=bucket, **refused), "predictions")
    text = page("/trellis/experiments/digits")
    assert "2026-01-02 03:00 3 1,200 200 accuracy 0.9000 [0.8500, 0.9400] 0.9700" in text
    assert warned in text
    assert "2026-01-01 00:00 3 refused" in text
    assert "Requests of the endpoint" not in text


def test_the_page_of_an_experiment_has_the_requests_of_its_endpoint_apart(
    digits, add, bucket, page
):
    add(a_run(digits, "r", a_board(), a_deployment(), bucket=bucket))
    kept = {"output": None, "until": "2026-01-03T00:00:00+00:00", "at": "2026-01-03T00:11:00+00:00"}
    add(a_prediction("compared", bucket=bucket, predicted=450, **kept), "predictions")
    unread = {"predicted": None, "warnings": ("keep a smaller share of them",)}
    add(a_prediction("unread", bucket=bucket, **kept | unread), "predictions")
    text = page("/trellis/experiments/digits")
    assert "Batch predictions" not in text
    requests = text.partition("Requests of the endpoint")[2]
    assert "2026-01-03 00:00 3 450" in requests
    assert "2026-01-03 00:00 3 too many keep a smaller share of them" in requests


def test_on_google_cloud_tensorboard_reads_the_bucket(
    google, digits, add, bucket, page, monkeypatch
):
    monkeypatch.delenv("GCS_ROOT")
    add(a_run(digits, "r", a_board(), bucket=bucket))
    folder = write_files(google.buckets, a_plan_of(digits, "r", bucket), a_board())
    a_training(folder / "training/1", [0.5])
    text = page("/trellis/experiments/digits/runs/r")
    assert f" tensorboard --logdir gs://{bucket}/digits/runs/r/ " in text


def test_a_page_points_to_no_files_that_a_failed_run_has_not_written(
    google, digits, add, bucket, get, page
):
    plan = a_plan_of(digits, "r", bucket)
    add(a_run(digits, "r", None, bucket=bucket))
    folder = write_files(google.buckets, plan)
    dataset = plan["dataset"]["uri"]

    def links():
        return get("ada", "/trellis/experiments/digits/runs/r").text

    assert "tensorboard" not in links()
    assert console.bucket(dataset) not in links()
    assert "not exported" in links()
    exported = google.buckets / dataset.removeprefix("gs://") / "source/rows-0.parquet"
    exported.parent.mkdir(parents=True, exist_ok=True)
    exported.touch()
    assert console.bucket(dataset) in links()
    trial = folder / "tuning/1/logs/events"
    trial.parent.mkdir(parents=True)
    trial.touch()
    assert "tensorboard --logdir" in links()


def test_the_whole_cause_of_a_failure_is_shown(digits, add, bucket, page):
    cause = "The rows of this run:\n  no row is of the class a\n  all rows are in train"
    failure = Failure(at="2026-01-05T10:00:00+00:00", task="check", why=cause, so_far_usd=None)
    add(a_run(digits, "r", None, bucket=bucket).model_copy(update={"failure": failure}))
    assert " ".join(f"check failed: {cause}".split()) in page("/trellis/experiments/digits")


def test_all_runs(digits, breast_cancer, add, bucket, page):
    served = a_run(digits, "good", a_board(), a_deployment(), created="2026-02-01T10:00:00+00:00")
    add(served)
    add(a_run(breast_cancer, "going-on", created="2026-01-02T10:00:00+00:00"))
    told = a_run(breast_cancer, "told", a_board(), created="2026-01-03T10:00:00+00:00")
    add(with_cost(told, {"tune": 0.5, "train": 1.0}))
    add(a_rollback(at="2026-03-01T00:00:00+00:00"), "rollbacks")
    text = page("/trellis/")
    assert "digits trellis multiclass_classification 1 2026-02-01 10:00" in text
    assert "accuracy 0.9700 [0.9500, 0.9800]" in text
    assert "version 1, rolled back 2026-03-01 00:00" in text
    assert "served as version 2" in text
    assert "no result" in text
    assert "2026-02 1 1.92 0.25" in text
    assert "2026-01 2 3.84 1.50" in text


def test_no_run_yet(bucket, page):
    text = page("/trellis/?experiment=digits")
    assert "No run." in text


def test_filters_keep_what_was_asked_over_pages(digits, breast_cancer, add, get, page):
    for number in range(60):
        add(a_run(digits, f"r{number:02}", tags=["nightly"]))
    add(a_run(breast_cancer, "rows"))
    text = page("/trellis/?tag=nightly")
    assert "60 runs, page 1 of 2" in text
    assert "rows" not in text
    raw = get("ada", "/trellis/?tag=nightly&page=2").text
    assert 'rel="prev" href="/trellis/?page=1&amp;tag=nightly"' in raw
    assert '<option value="nightly" selected>' in raw
    assert raw.count('type="checkbox"') == 10
    assert "No run." in page("/trellis/?owner=nobody")


def test_the_history_of_an_experiment(digits, add, bucket, client, get, page):
    first = a_run(digits, "a", a_board(), created="2026-01-01T00:00:00+00:00")
    better = a_board(a_contender("training/1", 0.99, 0.98, 1))
    second = a_run(digits, "b", better, a_deployment(), created="2026-01-02T00:00:00+00:00")
    add(first)
    add(second.model_copy(update={"dataset": "beef"}))
    add(a_rollback(), "rollbacks")
    client.bucket(bucket).blob("digits/runs/old/plan.json").upload_from_string("{}")
    text = page("/trellis/experiments/digits")
    assert "rolled back asked for version 'previous' ada 2" in text
    assert "promoted training/1 passes all 2 checks ada, b 1" in text
    assert "Runs that are not in this list" in text
    assert page("/trellis/experiments/digits/missing").endswith("adds those that have a plan. old ")
    drawn = Page(get("ada", "/trellis/experiments/digits").text).tags
    points = [
        about for tag, about in drawn if tag == "path" and about.get("stroke") == "var(--accent)"
    ]
    assert [about["fill"] for about in points] == ["var(--paper)", "var(--accent)"]
    heights = [float(about["transform"].partition(",")[2][:-1]) for about in points]
    assert heights[0] > heights[1]
    # A dashed line where the dataset changed.
    assert sum("stroke-dasharray" in about for tag, about in drawn if tag == "line") == 1


def test_a_run_with_its_report(google, digits, add, bucket, get, page):
    add(a_run(digits, "r", a_board(), a_deployment(), bucket=bucket))
    plan = a_plan_of(digits, "r", bucket)
    folder = write_files(google.buckets, plan, a_board(), a_deployment())
    a_training(folder / "training/1", [0.5])
    text = page("/trellis/experiments/digits/runs/r")
    assert "training/1 (winner) (selected) (served) 0.9700 [0.9500, 0.9800]" in text
    assert "training/1 is promoted: training/1 passes all 2 checks." in text
    assert "at most 1.92 USD" in text
    folder = re.search(r"tensorboard --logdir (\S+)", text)[1]
    assert f"{folder}/" == f"{google.buckets}/{bucket}/digits/runs/r/"
    raw = get("ada", "/trellis/experiments/digits/runs/r").text
    assert 'src="/trellis/experiments/digits/runs/r/report"' in raw
    assert "https://console.cloud.google.com/agent-platform/models?project=1" in raw
    report = get("ada", "/trellis/experiments/digits/runs/r/report")
    assert "<title>Report</title>" in report.text
    assert report.headers["content-security-policy"].endswith("; sandbox")


def test_whom_a_run_waits_for_and_what_they_answered(google, digits, add, bucket, page):
    address = "/trellis/experiments/digits"
    add(a_run(digits, "r", a_board(), bucket=bucket, approval=an_approval()))
    plan = a_plan_of(digits, "r", bucket)
    write_files(google.buckets, plan, a_board(), approval=an_approval("waiting", None, None))
    assert "Approval waiting: it waits for an answer of role:Op until" in page(f"{address}/runs/r")
    write_files(google.buckets, plan, a_board(), approval=an_approval())
    assert "rejected 2026-01-02 02:00 UTC: olga rejected it: site B" in page(f"{address}/runs/r")
    text = page(address)
    assert "promoted, not deployed: olga rejected it: site B is worse" in text
    assert " training/1 accuracy 0.9700 [0.9500, 0.9800] rejected olga rejected it: site" in text
    # The training is no champion.
    assert "version None" not in page("/trellis/")


def test_a_run_that_goes_on_shows_how_far_its_trials_and_trainings_have_come(
    google, digits, bucket, get, page
):
    plan = a_plan_of(digits, "r", bucket)
    folder = write_files(google.buckets, plan)
    a_training(folder / "tuning/2", [0.5, 0.7])
    a_progress(folder / "tuning/10", [0.4], epochs=2)
    a_progress(folder / "training/1", [0.6, 0.8, 0.75], epochs=20)
    address = "/trellis/experiments/digits/runs/r"
    text = page(address)
    says(text, "Trials and trainings", "tuning/2", "2 of 2", "accuracy 0.7", "ended")
    says(text, "tuning/10", "1 of 2", "accuracy 0.4", "at most 90 s left")
    says(text, "training/1", "3 of 20", "accuracy 0.75", "2026-11-26 14:50", "26 minutes left")
    assert "by epoch, of 3 trials and trainings" in get("ada", address).text

    write_files(google.buckets, plan, a_board())
    assert "Trials and trainings" not in page(address)


def test_a_run_that_is_not_in_the_index(google, digits, bucket, page):
    write_files(google.buckets, a_plan_of(digits, "old", bucket))
    assert "this run is not in it" in page("/trellis/experiments/digits/runs/old")
    page("/trellis/experiments/digits/runs/old/report", status=404)
    page("/trellis/experiments/digits/runs/gone", status=404)


def test_files_that_cannot_be_read_are_reported(google, digits, bucket, page):
    folder = write_files(google.buckets, a_plan_of(digits, "r", bucket), a_board())
    (folder / "leaderboard/leaderboard.json").write_text(json.dumps({"schema": 1}))
    text = page("/trellis/experiments/digits/runs/r")
    assert "leaderboard.json does not match leaderboard.schema.json" in text


def test_runs_side_by_side(google, digits, bucket, page):
    for folder, accuracy in (("a", 0.9), ("b", 0.95)):
        board = a_board(a_contender("training/1", accuracy, 0.8, 0.99))
        plan = a_plan_of(digits, folder, bucket)
        plan["configuration"]["seed"] = accuracy
        write_files(google.buckets, plan, board)
    text = page("/trellis/compare?run=digits/a&run=digits/b")
    assert "None of them has a record of a training." in text
    assert "accuracy ↑ 0.9000 [0.8000, 0.9900] 0.9500 [0.8000, 0.9900]" in text
    assert "All on the same test split." in text
    assert "seed 0.9 0.95" in text
    page("/trellis/compare?run=digits/a", status=400)
    page("/trellis/compare?run=digits/a&run=digits/a", status=400)
    page("/trellis/compare?run=digits/a&run=digits/gone", status=404)


def test_learning_curves_of_the_selected_trainings(google, digits, bucket, page):
    for folder in ("a", "b"):
        board = a_board(a_contender("training/1", 0.9, 0.8, 0.99, selected=True))
        write_files(google.buckets, a_plan_of(digits, folder, bucket), board)
    a_training(google.buckets / bucket / "digits/runs/a/training/1", [0.5, 0.75], speed=[SPEED])
    text = page("/trellis/compare?run=digits/a&run=digits/b")
    assert "run 1, training/1: 0.75 in epoch 2, which was kept" in text
    assert "The other runs have no record" in text
    says(
        text,
        "most of its time input 62% not measured",
        "CPU 50%",
        "read 40.0 MB",
        "GPU 75%, 3.0 GB",
    )


def test_any_two_trainings_side_by_side(google, digits, add, bucket, get, page):
    board = a_board(
        a_contender("baselines/bqml", 0.99, 0.98, 1),
        *(
            a_contender(f"training/{n}", 0.9, 0.8, 0.99, hyperparameters={"units": n})
            for n in (1, 2)
        ),
    )
    add(a_run(digits, "r", board, bucket=bucket))
    folder = write_files(google.buckets, a_plan_of(digits, "r", bucket), board)
    for n in (1, 2):
        a_training(folder / f"training/{n}", [0.5, 0.7 + n / 10])
    offered = get("ada", "/trellis/experiments/digits/runs/r").text
    assert 'value="digits/r/training/2" aria-label="Compare training/2"' in offered
    address = "/trellis/compare?run=digits/r/training/1&run=digits/r/training/2"
    text = page(address)
    says(text, "run 1, training/1: 0.8 in epoch 2", "run 2, training/2: 0.9 in epoch 2")
    says(text, "contender.units", "1", "2")
    assert "Scores of the contenders" in text
    assert get("ada", address).text.count('value="digits/r/training/2"') == 1
    page("/trellis/compare?run=digits/r&run=digits/r/training/9", status=404)


def test_names_notes_search_and_order(digits, add, client, bucket, get, page):
    add(a_run(digits, "a", a_board(a_contender("training/1", 0.8, 0.7, 0.9)), bucket=bucket))
    add(a_run(digits, "b", a_board(a_contender("training/1", 0.9, 0.8, 1)), bucket=bucket))
    append(client, Run(bucket, "digits", "a"), note("half the rate", "slow one"))
    text = page("/trellis/?search=half%20slow")
    says(text, "1 run", "slow one a", "half the rate")
    raw = get("ada", "/trellis/?search=half%20slow&sort=score").text
    assert 'value="half slow"' in raw
    assert '<option value="score" selected>' in raw
    text = page("/trellis/experiments/digits?sort=score")
    assert text.index("0.9000") < text.index("slow one a")
    assert get("ada", "/trellis/?sort=nonsense").status_code == 422


def test_the_stages_of_a_run(google, digits, add, bucket, page, planned):
    """Airflow has the run that the fixture `planned` made."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        run_id = session.scalar(select(DagRun.run_id).where(DagRun.dag_id == "digits"))
    plan = a_plan_of(digits, "r", bucket) | {"run_id": run_id}
    write_files(google.buckets, plan)
    text = page("/trellis/experiments/digits/runs/r")
    assert re.search(r"Stages stage state took usually left plan done \d+ s", text)


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def test_what_a_run_says_is_text(google, digits, add, bucket, client, get):
    hostile = digits.model_copy(update={"owner": HOSTILE, "about": HOSTILE})
    board = a_board(a_contender("training/1", 0.9, 0.8, 1, hyperparameters={HOSTILE: HOSTILE}))
    board["promotion"]["reason"] = HOSTILE
    board["slices"] = {**SLICES, "slices": [SLICES["slices"][0] | {"name": HOSTILE}]}
    for folder in ("a", "b"):
        add(a_run(hostile, folder, board, failure=HOSTILE, tags=[HOSTILE], bucket=bucket))
        plan = a_plan_of(hostile, folder, bucket)
        plan["dataset"]["source"] = plan["configuration"]["seed"] = HOSTILE + folder
        write_files(google.buckets, plan, board)
    add(a_rollback(user=HOSTILE), "rollbacks")
    append(client, Run(bucket, "digits", "a"), note(HOSTILE, "</h1><script>".replace("/", "")))
    for path in (
        "/trellis/",
        "/trellis/?owner=%3Cscript%3Ealert(1)%3C/script%3E",
        "/trellis/experiments/digits",
        "/trellis/experiments/digits/runs/a",
        "/trellis/compare?run=digits/a&run=digits/b",
        "/trellis/compare?run=digits/a/training/1&run=digits/b",
        "/trellis/?search=%3Cscript%3Ealert(1)%3C/script%3E",
        "/trellis/experiments/%3Cscript%3Ealert(1)",
    ):
        answer = get("ada", path)
        tags = {tag for tag, _ in Page(answer.text).tags}
        assert not tags & {"script", "img"}, path
        assert "alert(1)" in answer.text, path


def test_the_browser_asks_nobody_else_and_runs_nothing(google, digits, add, bucket, get):
    add(a_run(digits, "r", a_board(), bucket=bucket))
    write_files(google.buckets, a_plan_of(digits, "r", bucket), a_board())
    for path in ("/trellis/", "/trellis/experiments/digits", "/trellis/experiments/digits/runs/r"):
        answer = get("ada", path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        tags = Page(answer.text).tags
        assert not [about for _, about in tags if "style" in about or "onclick" in about]
        asked = [about["href"] for tag, about in tags if tag == "link"]
        asked += [about["src"] for _, about in tags if "src" in about]
        assert all(address.startswith("/trellis/") for address in asked)
    assert get(None, "/trellis/style.css").headers["content-type"].startswith("text/css")


def test_a_bucket_that_cannot_be_read_is_reported(bucket, get, google, monkeypatch):
    from trellis.web import access

    place = access.Place("no-such-bucket", "google_cloud_default")
    gone = access.Source(place, "digits")
    monkeypatch.setattr(access, "visible", lambda user: {"digits": gone})
    answer = get("ada", "/trellis/")
    assert answer.status_code == 502
    assert says(answer.text, "gs://no-such-bucket", "google_cloud_default")

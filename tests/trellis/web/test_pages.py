"""Contents of the pages; nothing in a run's files becomes a part of the page."""

import html
import html.parser
import json
import re

import pytest

from tests.tables import row
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

pytestmark = pytest.mark.one_airflow

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
    """Words of a page without its tags; `raw` is the page of a path."""

    def raw(path, status=200):
        answer = get("ada", path)
        assert answer.status_code == status, answer.text
        Page(answer.text)
        return answer.text

    def page(path, status=200):
        return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", raw(path, status))))

    page.raw = raw
    return page


def test_the_page_of_a_run_has_its_slices(google, digits, add, bucket, page):
    add(a_run(digits, "r", a_board(), bucket=bucket))
    board = a_board() | {"slices": SLICES}
    write_files(google.buckets, a_plan_of(digits, "r", bucket), board)
    raw = page.raw("/trellis/experiments/digits/runs/r")
    b, c = (row(raw, "slice", f"site = {site}") for site in "bc")
    assert (b["examples"], b["accuracy"]) == ("20", "0.5000 [0.3000, 0.7000]")
    assert b["gap"] == "-0.4500 [-0.7000, -0.2000]"
    assert (c["examples"], c["gap"]) == ("5", "not judged")


def test_the_page_of_an_experiment_has_its_predictions(digits, add, bucket, page):
    add(a_run(digits, "r", a_board(), a_deployment(), bucket=bucket))
    warned = "feature 'x' has a mean 2.00 standard deviations above that of before"
    scored = a_prediction(bucket=bucket, score=(0.9, 0.85, 0.94), warnings=(warned,))
    add(scored, "predictions")
    refused = {"predicted": None, "at": "2026-01-01T00:00:00+00:00"}
    add(a_prediction("bad", bucket=bucket, **refused), "predictions")
    raw = page.raw("/trellis/experiments/digits")
    good = row(raw, "predicted", "1,200")
    assert (good["when (UTC)"], good["version"]) == ("2026-01-02 03:00", "3")
    assert (good["labels since"], good["beyond predict.changes"]) == ("200", warned)
    assert good["score on them"] == "accuracy 0.9000 [0.8500, 0.9400]"
    assert good["score at promotion"].startswith("0.9700")
    assert row(raw, "predicted", "refused")["when (UTC)"] == "2026-01-01 00:00"
    assert "Requests of the endpoint" not in raw


def test_the_page_of_an_experiment_has_the_requests_of_its_endpoint_apart(
    digits, add, bucket, page
):
    add(a_run(digits, "r", a_board(), a_deployment(), bucket=bucket))
    kept = {"output": None, "until": "2026-01-03T00:00:00+00:00", "at": "2026-01-03T00:11:00+00:00"}
    add(a_prediction("compared", bucket=bucket, predicted=450, **kept), "predictions")
    unread = {"predicted": None, "warnings": ("keep a smaller share of them",)}
    add(a_prediction("unread", bucket=bucket, **kept | unread), "predictions")
    raw = page.raw("/trellis/experiments/digits")
    assert "Batch predictions" not in raw
    assert row(raw, "instances", "450")["until (UTC)"] == "2026-01-03 00:00"
    unread = row(raw, "instances", "too many")
    assert unread["beyond deploy.requests"] == "keep a smaller share of them"


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
    raw = page.raw("/trellis/")
    line = row(raw, "task", "multiclass_classification")
    assert (line["experiment"], line["owner"], line["runs"]) == ("digits", "trellis", "1")
    assert line["newest run"] == "2026-02-01 10:00"
    assert "accuracy 0.9700 [0.9500, 0.9800]" in line["newest winner"]
    assert says(line["served, with its own score"], "version 1", "rolled back 2026-03-01 00:00")
    assert row(raw, "run", "good")["outcome"] == "served as version 2"
    assert row(raw, "run", "going-on")["outcome"] == "no result"
    assert list(row(raw, "month", "2026-02").values())[1:] == ["1", "1.92", "0.25"]
    assert list(row(raw, "month", "2026-01").values())[1:] == ["2", "3.84", "1.50"]


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
    newer = [about["href"] for tag, about in Page(raw).tags if about.get("rel") == "prev"]
    assert newer == ["/trellis/?page=1&tag=nightly"]
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
    raw = page.raw("/trellis/experiments/digits")
    back, promoted = (row(raw, "what", what) for what in ("rolled back", "promoted"))
    assert list(back.values())[-3:] == ["asked for version 'previous'", "ada", "2"]
    assert (promoted["by"], promoted["before"]) == ("ada, b", "1")
    assert "/trellis/experiments/digits/missing" in Page(raw).links
    assert page("/trellis/experiments/digits/missing").endswith("adds those that have a plan. old ")
    drawn = Page(raw).tags
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
    raw = page.raw("/trellis/experiments/digits/runs/r")
    winner = row(raw, "contender", "training/1 (winner) (selected) (served)")
    assert winner["accuracy ↑"] == "0.9700 [0.9500, 0.9800]"
    assert says(text, "training/1 is promoted", "2 checks")
    assert "at most 1.92 USD" in text
    folder = re.search(r"tensorboard --logdir (\S+)", text)[1]
    assert f"{folder}/" == f"{google.buckets}/{bucket}/digits/runs/r/"
    links = Page(raw).links
    assert "/trellis/experiments/digits/runs/r/report" in links
    assert any("/agent-platform/models?project=1" in link for link in links)
    report = get("ada", "/trellis/experiments/digits/runs/r/report")
    assert "<title>Report</title>" in report.text
    assert report.headers["content-security-policy"].endswith("; sandbox")


def test_whom_a_run_waits_for_and_what_they_answered(google, digits, add, bucket, page):
    address = "/trellis/experiments/digits"
    add(a_run(digits, "r", a_board(), bucket=bucket, approval=an_approval()))
    plan = a_plan_of(digits, "r", bucket)
    write_files(google.buckets, plan, a_board(), approval=an_approval("waiting", None, None))
    assert says(page(f"{address}/runs/r"), "Approval waiting", "role:Op")
    write_files(google.buckets, plan, a_board(), approval=an_approval())
    why = "olga rejected it: site B is worse"
    assert says(page(f"{address}/runs/r"), "rejected 2026-01-02 02:00 UTC", why)
    raw = page.raw(address)
    assert says(row(raw, "run", "r")["outcome"], "not deployed", why)
    rejected = row(raw, "what", "rejected")
    assert (rejected["its score"].split()[0], rejected["why"]) == ("training/1", why)
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
    assert says(text, "tuning/2", "2 of 2", "accuracy 0.7", "ended")
    assert says(text, "tuning/10", "1 of 2", "accuracy 0.4", "at most 90 s left")
    assert says(text, "training/1", "3 of 20", "accuracy 0.75", "2026-11-26 14:50", "26 minutes")
    assert "of 3 trials and trainings" in get("ada", address).text

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
    assert says(text, "leaderboard.json", "leaderboard.schema.json")


def test_runs_side_by_side(google, digits, bucket, page):
    for folder, accuracy in (("a", 0.9), ("b", 0.95)):
        board = a_board(a_contender("training/1", accuracy, 0.8, 0.99))
        plan = a_plan_of(digits, folder, bucket)
        plan["configuration"]["seed"] = accuracy
        write_files(google.buckets, plan, board)
    raw = page.raw("/trellis/compare?run=digits/a&run=digits/b")
    assert "None of them has a record of a training." in raw
    _, a, b = row(raw, "metric", "accuracy ↑").values()
    assert (a, b) == ("0.9000 [0.8000, 0.9900]", "0.9500 [0.8000, 0.9900]")
    assert "All on the same test split." in raw
    assert list(row(raw, "parameter", "seed").values()) == ["seed", "0.9", "0.95"]
    page("/trellis/compare?run=digits/a", status=400)
    page("/trellis/compare?run=digits/a&run=digits/a", status=400)
    page("/trellis/compare?run=digits/a&run=digits/gone", status=404)


def test_learning_curves_of_the_selected_trainings(google, digits, bucket, page):
    for folder in ("a", "b"):
        board = a_board(a_contender("training/1", 0.9, 0.8, 0.99, selected=True))
        write_files(google.buckets, a_plan_of(digits, folder, bucket), board)
    a_training(google.buckets / bucket / "digits/runs/a/training/1", [0.5, 0.75], speed=[SPEED])
    text = page("/trellis/compare?run=digits/a&run=digits/b")
    assert says(text, "run 1, training/1", "0.75", "epoch 2")
    assert "The other runs have no record" in text
    assert says(text, "input 62%", "not measured", "CPU 50%", "read 40.0 MB", "GPU 75%, 3.0 GB")


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
    offered = Page(page.raw("/trellis/experiments/digits/runs/r")).tags
    marks = [about["value"] for _, about in offered if about.get("type") == "checkbox"]
    assert "digits/r/training/2" in marks
    address = "/trellis/compare?run=digits/r/training/1&run=digits/r/training/2"
    text = page(address)
    assert says(text, "run 1, training/1", "0.8", "run 2, training/2", "0.9")
    units = row(page.raw(address), "parameter", "contender.units")
    assert list(units.values())[1:] == ["1", "2"]
    assert "Scores of the contenders" in text
    assert get("ada", address).text.count('value="digits/r/training/2"') == 1
    page("/trellis/compare?run=digits/r&run=digits/r/training/9", status=404)


def test_names_notes_search_and_order(digits, add, client, bucket, get, page):
    add(a_run(digits, "a", a_board(a_contender("training/1", 0.8, 0.7, 0.9)), bucket=bucket))
    add(a_run(digits, "b", a_board(a_contender("training/1", 0.9, 0.8, 1)), bucket=bucket))
    append(client, Run(bucket, "digits", "a"), note("half the rate", "slow one"))
    text = page("/trellis/?search=half%20slow")
    assert says(text, "1 run", "slow one a", "half the rate")
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
    stage = row(page.raw("/trellis/experiments/digits/runs/r"), "stage", "plan")
    assert stage["state"] == "done"
    assert re.fullmatch(r"\d+ (s|minutes?)", stage["took"])


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

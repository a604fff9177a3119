"""report.html: self-contained, safe, complete, and sane for 2 and for 120 classes."""

import json
import re
from html.parser import HTMLParser

import cv2
import numpy as np
import pytest

from tests.trainer.conftest import RunFolder
from tests.wording import says
from trainer import compare
from trainer.metrics.decision import Threshold

VOID = {"meta", "br", "wbr", "img", "link", "input", "hr"}


def tidy(text):
    return " ".join(text.split())


class Page(HTMLParser):
    """Tags, attributes, tables and text of a page; raises if tags do not close in order, and of a
    table that would widen the page of a phone, as it is in no box that scrolls.
    """

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.scrolling, self.tables = [], []
        self.feed(html)
        self.text = tidy(self.text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        assert tag != "table" or any(self.scrolling), self.text[-100:]
        if tag not in VOID:
            self.open.append(tag)
            self.scrolling.append(("class", "scroll") in attributes)
        if tag in ("th", "td"):
            self.tables[-1][-1].append("")
        elif tag in ("table", "tr"):
            (self.tables if tag == "table" else self.tables[-1]).append([])

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attributes]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.scrolling.pop()

    def handle_data(self, data):
        self.text += data
        if {"th", "td"} & set(self.open):
            self.tables[-1][-1][-1] += data

    def table(self, column):
        """Rows of the only table with this column: the first cell -> {column: text}."""
        tables = [[[tidy(cell) for cell in row] for row in rows] for rows in self.tables]
        ((header, *rows),) = (rows for rows in tables if column in rows[0])
        return {row[0]: dict(zip(header, row, strict=True)) for row in rows}

    def values(self, name):
        return [value for _, attribute, value in self.attributes if attribute == name]


def report(run, metric="accuracy"):
    compare.compare(run.uri, metric)
    return (run.path / "leaderboard" / "report.html").read_text(encoding="utf-8")


def digits_in(folder, classifier):
    labels = np.random.default_rng(0).integers(0, 10, 180)
    run = RunFolder(folder, labels, range(10))
    run.trial(1, 0.91, learning_rate=0.0004, layers=1.0, optimizer="sgd")
    run.trial(2, 0.96, rank=1, learning_rate=0.003, layers=2.0, optimizer="adam")
    run.trial(3, None, state="INFEASIBLE", history=0, learning_rate=0.09, layers=3.0)
    run.trial(4, 0.5, state="STOPPED", history=2, learning_rate=0.05, layers=3.0, optimizer="sgd")
    run.contender(1, classifier(labels, 10, skill=4, seed=1))
    run.training(2)
    return run


@pytest.fixture
def digits(tmp_path, classifier):
    return digits_in(tmp_path, classifier)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory, classifier):
    """The page of the digits and its figures' data."""
    run = digits_in(tmp_path_factory.mktemp("digits"), classifier)
    html = report(run)
    return html, json.loads((run.path / "leaderboard" / "figures.json").read_text())["figures"]


def test_nothing_is_fetched_from_outside(drawn):
    html, _ = drawn
    page = Page(html)
    assert not {"script", "link", "iframe", "object", "embed", "base"} & set(page.tags)
    assert all(value.startswith("data:image/") for value in page.values("src"))
    assert all(value.startswith("#") for value in page.values("href"))
    assert all(value.startswith("data:image/png") for value in page.values("xlink:href"))
    assert "http:" not in html
    assert "https:" not in html
    assert "@import" not in html
    assert not re.search(r"url\(", html)
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page.values("content")


def test_names_from_data_cannot_become_markup(run_folder, classifier):
    labels = np.arange(60) % 2
    names = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>']
    keys = [f"<b>{i}</b>&amp;.png" for i in range(60)]
    run = run_folder(labels, names, keys=keys)
    run.plan({"experiment": "<script>", "configuration": {"owner": "</pre><script>"}})
    run.trial(1, 0.9, rank=1, **{"<i>": "</title><script>"}).trial(2, 0.8, **{"<i>": "x"})
    run.contender(1, classifier(labels, 2, skill=1, seed=1))
    page = Page(report(run))
    assert "script" not in page.tags
    assert page.values("onerror") == []
    assert "<script>alert(1)</script>" in page.text
    assert "&amp;.png" in page.text


def test_the_page_tells_the_whole_story(drawn):
    page = Page(drawn[0])
    for expected in (
        "digits",
        "manual__2026-01-01",
        "2025-12-25 to 2026-01-01",
        "training/1, the winner",
        "No other contender could be scored.",
        "The test split is small",
        "no predictions.parquet: it was trained with --outputs metrics",
        "4 trials to maximize validation accuracy: 2 succeeded, 1 failed, 1 stopped early",
        "Most confident mistakes",
        "FARM_FINGERPRINT(key) mod 100",
        "2 lines of the source",
        "owner: vision-lab",
        "python -m trainer.task",
        "--learning_rate 0.003",
        "training",
    ):
        assert expected in page.text, expected
    # What a column means is said where the column is.
    told = page.text.partition("What was trained")[0]
    assert says(told, "Time", "USD", "Time: the sum over", "USD: an upper bound")


@pytest.mark.usefixtures("undrawn")
def test_why_lines_were_rejected(digits, drawn):
    assert "Rejected lines" not in Page(drawn[0]).text
    lines = [
        {"line": 4, "uri": "gs://b/4.png", "label": "3", "reason": "same key as line 3"},
        {"line": 9, "uri": "gs://b/9.png", "label": "3", "reason": "same key as line 8"},
        {"line": 10, "uri": "gs://b/10.png", "label": "", "reason": "no '<b>' on line 10"},
    ]
    path = digits.dataset / "rejected.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    rows = Page(report(digits)).table("Reason").values()
    assert [(row["Lines"], row["For example"]) for row in rows] == [
        ("2", "gs://b/4.png"),
        ("1", "gs://b/10.png"),
    ]


@pytest.mark.usefixtures("undrawn")
def test_the_balance_of_the_classes_by_split(run_folder, classifier):
    labels = np.array([0] * 30 + [1] * 10)
    run = run_folder(labels, 2).contender(1, classifier(labels, 2, skill=3, seed=1))
    assert "240 75.0% 30 75.0% 30 75.0% 300" in Page(report(run)).text


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("mine.py", "--model gs://lab/models/1/mine.py \\ --model_sha256 " + "1" * 64),
        ("other.py", "--model gs://lab/models/2/other.py \\ --model_sha256 " + "2" * 64),
        ("dense", "--model dense \\ --task"),
    ],
)
def test_the_command_names_the_file_of_the_contenders_own_model(
    run_folder, classifier, model, expected
):
    """A run has several models, each of a file of its own or the trainer's."""
    labels = np.arange(60) % 2
    run = run_folder(labels, 2)
    declaration = {
        "description": "",
        "inputs": ["table"],
        "hyperparameters": {},
        "loss": False,
        "metrics": False,
    }
    run.plan(
        {
            "model_files": {
                name: {
                    "name": name,
                    "sha256": digit * 64,
                    "uri": f"gs://lab/models/{digit}/{name}",
                    "declaration": declaration,
                }
                for name, digit in (("mine.py", "1"), ("other.py", "2"))
            }
        }
    )
    run.contender(1, classifier(labels, 2, skill=1, seed=1), model=model)
    assert expected in " ".join(Page(report(run)).text.split())


@pytest.mark.usefixtures("undrawn")
def test_the_command_repeats_every_digit(digits, classifier):
    labels = digits.labels
    exact = {"learning_rate": 0.0031234567890123, "units": 4096, "augment": True, "layers": 2.0}
    digits.contender(1, classifier(labels, 10, skill=4, seed=1), hyperparameters=exact)
    text = Page(report(digits)).text
    assert "--learning_rate 0.0031234567890123 " in text
    assert "--units 4096 " in text
    assert "--augment true " in text


def test_pictures_of_mistakes_are_embedded(drawn):
    page = Page(drawn[0])
    pictures = [value for tag, name, value in page.attributes if (tag, name) == ("img", "src")]
    assert 0 < len(pictures) <= 24
    assert all(picture.startswith("data:image/png;base64,") for picture in pictures)


def test_a_winner_without_mistakes_shows_what_it_was_least_sure_of(run_folder):
    labels = np.arange(60) % 2
    run = run_folder(labels, ["benign", "malignant"])
    sure = np.linspace(0.6, 0.99, 60)
    run.contender(1, np.where(np.eye(2)[labels] > 0, sure[:, None], 1 - sure[:, None]))
    page = Page(report(run))
    assert "Least confident predictions" in page.text
    assert page.text.index("images/00000.png") < page.text.index("images/00001.png")
    assert "It was the only contender." in page.text
    assert "This run has no tuning trials." in page.text


def test_a_threshold_is_named(run_folder):
    labels = np.arange(60) % 2
    run = run_folder(labels, ["benign", "malignant"])
    shares = np.tile([0.8, 0.2], (60, 1))
    run.contender(1, shares, threshold=Threshold(0.125)).contender(2, shares)
    text = Page(report(run)).text
    assert says(text, "30 of 60 test examples", "validation split", "malignant above 0.125.")
    assert "Beside the name" in text
    assert "training/1 winner, malignant above 0.125" in text


def test_a_constant_classifier_is_reported(run_folder):
    labels = np.arange(60) % 3
    run = run_folder(labels, 3)
    run.contender(1, np.tile([0.5, 0.25, 0.25], (60, 1)))
    text = Page(report(run)).text
    assert "is wrong on 40 of 60 test examples" in text


@pytest.mark.slow
def test_120_classes_with_large_pictures_stay_readable_and_small(run_folder, classifier):
    random = np.random.default_rng(1)
    labels = random.integers(0, 120, 1500)
    photo = random.integers(0, 255, (400, 300, 3), dtype=np.uint8)
    jpeg = cv2.imencode(".jpg", photo)[1].tobytes()
    assert len(jpeg) > 50_000
    names = [f"species {i}" for i in range(120)]
    run = run_folder(labels, names, images=[jpeg] * 1500)
    for trial in range(40):
        run.trial(trial + 1, 0.5 + trial / 100, learning_rate=10 ** random.uniform(-4, -1))
    run.contender(1, classifier(labels, 120, skill=4, seed=1))
    html = report(run)
    assert len(html) < 2_000_000
    page = Page(html)
    assert "The 15 classes with the lowest F1" in page.text
    assert "All 120 classes" in page.text
    assert "image" in page.tags  # the confusion matrix is a picture, not 14,400 cells


def test_a_training_that_diverged_leaves_gaps_in_its_curves(digits, classifier):
    nan = float("nan")
    history = [
        {"epoch": 1, "loss": 2.0, "accuracy": 0.3, "val_loss": 2.1, "val_accuracy": 0.2},
        {"epoch": 2, "loss": nan, "accuracy": nan, "val_loss": nan, "val_accuracy": 0.1},
    ]
    history = [row | {"learning_rate": 0.001, "seconds": 1.0} for row in history]
    digits.training(1, history=history, best_epoch=1)
    html = report(digits)
    assert "nan" not in "".join(Page(html).values("d")).lower()
    # JSON has no NaN: a notebook reads the figures' data.
    figures = json.loads((digits.path / "leaderboard" / "figures.json").read_text())["figures"]
    rows = figures["loss/training/1"]["data"]["values"]
    assert [row["epoch"] for row in rows if row["split"] == "validation"] == [1]


def test_every_figure_of_the_page_can_be_taken_out(drawn):
    html, figures = drawn
    page = Page(html)
    labels = [value for tag, name, value in page.attributes if (tag, name) == ("svg", "aria-label")]
    assert sorted(labels) == sorted(figure["description"] for figure in figures.values())
    assert {"ranking", "roc", "precision_recall", "confusion/training/1"} <= set(figures)


def test_drawings_follow_the_theme_of_the_page(drawn):
    html, _ = drawn
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    colours = {c for svg in drawings for c in re.findall(r'(?:fill|stroke)="([^"]+)"', svg)}
    assert {"var(--ink)", "var(--muted)", "var(--s1)"} <= colours
    # White text stands on a cell that is dark enough in both themes.
    assert {colour for colour in colours if colour.startswith("#")} <= {"#ffffff"}
    defined = set(re.findall(r"(--\w+):", html))
    assert {colour[4:-1] for colour in colours if colour.startswith("var(")} <= defined

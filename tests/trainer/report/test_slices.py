"""The report's section on slices: every one in the tables, the largest gaps in the figure."""

import json

import numpy as np
import pytest

from tests.trainer.report.test_page import Page, report
from trainer.report import forests
from trainer.report import page as pages

DRAWN, MOST = 6, 9
KEPT = [{"name": "site", "column": "site"}]


@pytest.fixture
def sliced(run_folder, classifier):
    """A function that makes the report of a run on 600 examples with these sites."""

    def make(sites, skill=3.0, by="site", metric="accuracy"):
        random = np.random.default_rng(1)
        labels = random.integers(0, 3, 600)
        run = run_folder(labels, ["a", "b", "c"])
        run.contender(1, classifier(labels, 3, skill=skill, seed=2))
        run.contender(2, classifier(labels, 3, skill=1, seed=3))
        run.frozen({"site": sites(random)})
        run.plan({"configuration": {"slices": [by]}, "table": run.table | {"kept": KEPT}})
        page = report(run, metric)
        return page, json.loads((run.path / "leaderboard" / "figures.json").read_text())

    return make


def test_every_slice_has_its_score_and_gap(sliced):
    page, _ = sliced(lambda random: random.choice(["north", "<b>south", ""], 600))
    found = Page(page)
    assert "#slices" in found.values("href")
    for name in ("site = north", "site = <b>south", "site = ''"):
        assert found.text.count(name) >= 3  # in the figure and in both tables
    assert "Of 3 gaps" in found.text


@pytest.mark.usefixtures("undrawn")
def test_a_slice_of_few_examples_is_not_judged(sliced):
    page, _ = sliced(lambda random: ["rare"] * 4 + ["north"] * 300 + ["south"] * 296)
    text = Page(page).text
    assert "site = rare not judged 4" in text


def test_the_figure_has_the_largest_gaps_and_the_table_all(sliced, monkeypatch):
    for module in (forests, pages):
        monkeypatch.setattr(module, "MOST_SLICES", DRAWN)
    page, figures = sliced(lambda random: random.choice([f"s{n:02d}" for n in range(MOST)], 600))
    drawn = json.dumps(figures["figures"]["slices"])
    shown = {name for name in (f"site = s{n:02d}" for n in range(MOST)) if f'"{name}"' in drawn}
    assert len(shown) == DRAWN
    text = Page(page).text
    assert f"first {DRAWN} of {MOST} slices" in text
    assert all(f"site = s{n:02d}" in text for n in range(MOST))


@pytest.mark.usefixtures("undrawn")
def test_by_class_there_is_no_auc_to_draw(sliced):
    page, figures = sliced(lambda random: ["a"] * 600, by="label", metric="auc")
    assert "slices" not in figures["figures"]
    assert "label = b" in Page(page).text


@pytest.mark.usefixtures("undrawn")
def test_without_slices_there_is_no_section(run_folder, classifier):
    labels = np.random.default_rng(1).integers(0, 3, 60)
    run = run_folder(labels, ["a", "b", "c"])
    run.contender(1, classifier(labels, 3, skill=3, seed=2))
    assert "#slices" not in Page(report(run)).values("href")

"""The report of a run over a table: features, drift, baselines, and a regression's charts."""

import base64
import dataclasses
import re

import numpy as np
import pytest

from tests.trainer.report.test_page import Page, report
from tests.trainer.table_run import numeric, picture, some_features
from tests.wording import says
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import Feature, Statistics, Weight

LABELS = np.arange(80) % 2


@pytest.fixture
def run(table_run, classifier):
    folder = table_run(LABELS, ["false", "true"])
    folder.contender(1, classifier(LABELS, 2, skill=3, seed=1))
    return folder.baseline("bqml-logistic_reg", folder.exported(classifier(LABELS, 2, 2, 2)))


def test_the_page_tells_the_whole_story_of_a_table(run):
    run.previous(some_features(np.random.default_rng(9), 640, shift=-3))
    run.baseline("automl", status="failed", reason="RESOURCE_EXHAUSTED: no quota")
    page = Page(report(run, "auc"))
    for expected in (
        "binary classification of malignant",
        "Vertex AI AutoML",
        "RESOURCE_EXHAUSTED: no quota",
        "model_type LOGISTIC_REG",
        "Positive is true.",
        "The other contenders\N{RIGHT SINGLE QUOTATION MARK} confusion matrices",
        "10 features: 6 numeric, 1 boolean, 1 categorical, 1 timestamp, 1 sequence",
        "2 terms: left 60%, right 40%",
        "% true",
        "baselines/bqml-logistic_reg, standardized weight",
        "since dataset beef",
        "Change of the features: 8 within chance, 0 small, 1 large",
        "moves with the calendar",
        "column day, from 2024-01-01, to 2024-01-02",
        "41.3 s",
        "0.05",
    ):
        assert expected in page.text, expected
    assert "script" not in page.tags


@pytest.mark.usefixtures("undrawn")
def test_a_training_that_went_on_from_the_served_model_says_so(run, classifier):
    assert "the served model" not in Page(report(run, "auc")).text
    run.contender(2, classifier(LABELS, 2, skill=2, seed=3), start="gs://b/e/runs/a/best.npz")
    page = Page(report(run, "auc")).text
    assert "training/2 the served model\N{RIGHT SINGLE QUOTATION MARK}s weights" in page


CHANGES = {
    "schema": 1,
    "previous": "gs://b/cells/datasets/beef/",
    "remark": None,
    "limits": {"beyond": "warn", "mean": 0.5},
    "findings": [{"check": "mean", "feature": "x", "text": "feature 'x' has a mean of <b>7</b>"}],
}


@pytest.mark.usefixtures("undrawn")
def test_changes_beyond_the_limits_are_told_with_the_limits(run):
    run.previous(run.features)
    assert "Changes beyond the limits" not in Page(report(run, "auc")).text
    run._write("changes.json", CHANGES)
    text = Page(report(run, "auc")).text
    assert "Feature 'x' has a mean of <b>7</b>" in text
    assert says(text, "source.changes", "beyond warn, mean 0.5")
    run._write("changes.json", CHANGES | {"findings": []})
    assert "Changes beyond the limits None." in Page(report(run, "auc")).text
    run._write("changes.json", CHANGES | {"findings": [], "remark": "it was deleted"})
    assert "were not applied: it was deleted." in Page(report(run, "auc")).text


@pytest.mark.usefixtures("undrawn")
def test_weights_are_told_with_what_they_leave_of_the_examples(run):
    path = run.dataset / "dataset.json"
    known = DatasetDescription.from_json(path.read_text())
    # Half of the rows weigh 1, half 3: (1 + 3)^2 / (2 (1 + 9)) of them are left.
    statistics = Statistics(640, 0, 2.0, 1.0, 1.0, 3.0, (1.0,) * 10 + (3.0,) * 11)
    weight = Weight("sampled", statistics, {"false": 640.0, "true": 640.0})
    path.write_text(dataclasses.replace(known, weight=weight).to_json())
    text = Page(report(run, "auc")).text
    assert says(text, "sampled, 1 to 3", "640", "512")


@pytest.mark.usefixtures("undrawn")
def test_without_an_earlier_dataset_the_page_says_so(run):
    assert "no previous dataset" in Page(report(run, "auc")).text
    run.plan({"dataset": {"uri": f"{run.dataset}/", "previous": "gs://gone/datasets/1/"}})
    assert "can no longer be read" in Page(report(run, "auc")).text


@pytest.mark.usefixtures("undrawn")
def test_a_page_without_importances_says_unknown(run):
    run.baseline("bqml-logistic_reg", feature_importance=[])
    assert "Unknown: no baseline reported it" in Page(report(run, "auc")).text


@pytest.mark.slow
def test_2000_features_and_long_names_stay_bounded(table_run, classifier):
    random = np.random.default_rng(1)
    features = [
        numeric(f"expression of gene {'x' * 80} {i}", random.normal(size=50), index=i)
        for i in range(2000)
    ]
    run = table_run(LABELS, ["false", "true"], features=features)
    run.previous([f for f in features if not f.name.endswith("7")])
    run.contender(1, classifier(LABELS, 2, skill=3, seed=1))
    long = "bqml-" + "boosted_tree_classifier_" * 4
    importance = [{"feature": f.name, "weight": 1.0, "what": "gain"} for f in features]
    run.baseline(
        long,
        run.exported(classifier(LABELS, 2, 2, 2)),
        feature_importance=importance,
        features_left_out=[f.name for f in features],
    )
    html = report(run, "auc")
    assert len(html) < 500_000
    text = Page(html).text
    assert "And 1,760 more, described in dataset.json." in text
    assert "more features changed less" in text
    assert "and 1988 more" in text
    assert f"baselines/{long}" in text


def test_names_of_features_cannot_become_markup(table_run, classifier):
    features = [numeric("<script>alert(1)</script>", np.arange(50.0))]
    run = table_run(LABELS, ["<b>", "</td>"], features=features)
    run.contender(1, classifier(LABELS, 2, skill=3, seed=1))
    run.baseline("automl", status="failed", reason="<img src=x onerror=alert(1)>")
    page = Page(report(run, "auc"))
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert "<script>alert(1)</script>" in page.text


def test_a_regression_has_predictions_instead_of_classes(table_run):
    labels = np.random.default_rng(2).normal(70, 12, 120)
    run = table_run(labels)
    run.values(1, labels + 1).values(2, labels * 0.9)
    run.baseline("bqml-linear_reg", run.exported_values(labels - 3))
    run.previous(run.features)
    page = Page(report(run, "rmse"))
    for expected in (
        "regression of weight",
        "Predicted against true values of weight",
        "Cumulative errors",
        "The winner\N{RIGHT SINGLE QUOTATION MARK}s largest errors",
        "closer: winner",
        "studentized bootstrap",
        "RMSE ↓",
    ):
        assert expected in page.text, expected
    for absent in ("Confusion matrix", "ROC", "By class", "Clopper"):
        assert absent not in page.text, absent
    assert "nan" not in "".join(page.values("d")).lower()


PHOTO = Feature("photo of the eye", "image", "uint8", "png", (8, 8, 1), "photo_of_the_eye")


def pictures(html):
    """Rows whose pictures a page has."""
    known = {base64.b64encode(picture(row)).decode(): row for row in range(120)}
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    return [known[data] for data in found if data in known]


@pytest.mark.usefixtures("undrawn")
def test_rows_with_an_image_show_it_among_the_features_and_beside_the_mistakes(
    table_run, classifier
):
    features = (*some_features(np.random.default_rng(0), 400), PHOTO)
    run = table_run(LABELS, ["false", "true"], features=features)
    probabilities = classifier(LABELS, 2, skill=3, seed=1)
    run.contender(1, probabilities).previous(features)
    html = report(run, "auc")
    assert "photo of the eye" in Page(html).text
    assert "8 x 8 x 1, 8 bits" in Page(html).text
    wrong = np.flatnonzero(probabilities.argmax(axis=1) != LABELS)
    assert set(pictures(html)) <= {*wrong.tolist()}
    assert len(pictures(html)) == min(24, len(wrong))


@pytest.mark.usefixtures("undrawn")
def test_a_regression_with_an_image_shows_those_of_its_largest_errors(table_run):
    labels = np.random.default_rng(2).normal(70, 12, 120)
    run = table_run(labels, features=(PHOTO,))
    off = np.where(np.arange(120) == 77, 40.0, np.random.default_rng(3).normal(0, 1, 120))
    run.values(1, labels + off)
    assert pictures(report(run, "rmse"))[0] == 77

"""The report's section on the gate's decision, and the served model among the contenders."""

import json

import numpy as np
import pytest

from tests.trainer.report.test_page import Page, report
from tests.wording import says
from trainer import predictions
from trainer.prediction_forms.classification import Predictions

LABELS = np.random.default_rng(0).integers(0, 2, 120)
MODEL = "projects/p/locations/europe-west4/models/digits@3"
GATE = {
    "require": {"auc": 0.6},
    "beat": "nothing",
    "margin": 0.0,
    "tolerance": 0.0,
    "learned": True,
}


@pytest.fixture
def run(run_folder, classifier):
    run = run_folder(LABELS, ["dark", "light"])
    deploy = {"gate": GATE, "smoke": {"examples": 2, "latency": 1000}}
    run.plan({"configuration": {"deploy": deploy}})
    run.contender(1, classifier(LABELS, 2, skill=2, seed=1))
    return run


def served(run, probabilities, artifact_uri="gs://bucket/earlier/training/1/model/"):
    document = {"schema": 1, "endpoint": None, "model": MODEL, "traffic": 100}
    document |= {"artifact_uri": artifact_uri}
    (run.path / "served.json").write_text(json.dumps(document))
    (run.path / "served").mkdir()
    predictions.write(
        run.path / "served" / "predictions.parquet",
        Predictions(run.keys, LABELS, probabilities, run.classes),
        {"model": MODEL, "artifact_uri": artifact_uri, "dataset": "f00d"},
    )


def test_a_promotion_is_told_with_its_checks_and_what_is_served(run, classifier):
    served(run, classifier(LABELS, 2, skill=1, seed=2))
    page = Page(report(run, "auc"))
    assert "promoted training/1 passes all 2 checks." in page.text
    assert "#promotion" in page.values("href")
    assert page.text.index("Promotion") < page.text.index("Ranking")
    assert "AUC at least 0.6passedAUC 0." in page.text.replace(" passed ", "passed")
    assert "AUC no worse than the served model's" in page.text
    assert MODEL in page.text


def test_a_served_model_that_stays_ahead_is_the_winner_and_stands_in_the_charts(run, classifier):
    served(run, classifier(LABELS, 2, skill=4, seed=2))
    html = report(run, "auc")
    page = Page(html)
    assert says(page.text, "training/1", "1 of 2", "AUC")
    assert "AUC of served, the winner" in page.text
    assert says(page.text, "served at the time of the run", MODEL)
    assert any("served: area" in label for label in page.values("aria-label"))
    # A lead's minus sign is as wide as its plus.
    assert "ahead by −0." in page.text  # noqa: RUF001
    assert "Vertex AI AutoML" not in page.text


def test_a_run_that_serves_its_own_training_says_so(run, classifier):
    served(run, classifier(LABELS, 2, skill=4, seed=2), f"{run.uri}training/1/model/")
    text = Page(report(run, "auc")).text
    assert "training/1 is already the served model" in text
    assert "this run, training/1" in text


def test_a_run_that_looked_and_found_nothing_served_says_so(run):
    nothing = {"schema": 1, "endpoint": None, "model": None, "artifact_uri": None, "traffic": 0}
    (run.path / "served.json").write_text(json.dumps(nothing))
    page = Page(report(run, "auc"))
    assert "No model of the experiment was served" in page.text


def test_a_run_that_deploys_nothing_has_no_such_section(run):
    run.plan({"configuration": {}})
    page = Page(report(run, "auc"))
    assert "Promotion" not in page.text
    assert "#promotion" not in page.values("href")

"""Predictions scored on labels that came later: the metrics are those of scikit-learn, and of times
those of the leaderboard, which scikit-survival's confirm (test_survival_peers.py).
"""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from trainer import performance
from trainer.metrics.survival import SURVIVAL_METRICS, SurvivalOutcome
from trellis_contracts.performance import PerformanceFile

CLASSES = ["healthy", "ill"]
SURVIVAL = {
    "task": "time_to_event",
    "classes": [],
    "label": {
        "name": "label",
        "dtype": "float32",
        "column": "days",
        "event": {
            "column": "died",
            "events": {},
            "censored": {},
            "quantiles": np.linspace(1, 900, 21).tolist(),
            "horizons": [365.0, 730.0],
            "times": [100.0, 365.0, 500.0, 730.0],
        },
    },
}
"""Of the dataset.json of a survival, what is its own."""


@pytest.fixture
def labelled(run_folder, classifier, tmp_path):
    """Writes the rows of two runs of predictions by one model: the folder, and what it says."""

    def make(change=None, by=None, threshold=None, learned=None):
        random = np.random.default_rng(1)
        labels = random.integers(0, 2, 120)
        shares = classifier(labels, 2, 1.5, seed=2)
        run = run_folder(np.repeat([0, 1], 20), CLASSES)
        challenger = {
            "schema": 1,
            "contender": "training/1",
            "model": f"{run.uri}training/1/model/",
            "examples": [
                {"key": "1", "instance": {"x": 1}, "prediction": {"value": 2.0}},
            ],
            **({"threshold": threshold} if threshold else {}),
            "hyperparameters": {},
            "provenance": {
                "run": run.uri,
                "dataset": "f00d",
                "versions": {},
                "code_sha256": "0" * 64,
            },
        }
        run._write("leaderboard/challenger.json", challenger)
        file = run.dataset / "dataset.json"
        dataset = json.loads(file.read_text()) | (learned or {})
        if by is not None:
            dataset["split"] |= {"rule": "FARM_FINGERPRINT(group) mod 100", "by": by}
        file.write_text(json.dumps(dataset))
        rows = {
            "run": ["monday"] * 60 + ["tuesday"] * 60,
            "trained": [run.uri] * 120,
            "key": [str(n) for n in range(60)] * 2,
            "label": [CLASSES[label] for label in labels],
            "prediction": [
                json.dumps({"label": "?", "probabilities": dict(zip(CLASSES, row, strict=True))})
                for row in shares.tolist()
            ],
            "unit": [str(n // 10) if by else None for n in range(120)],
        }
        folder = tmp_path / "labelled"
        folder.mkdir()
        table = pa.table({**rows, **(change or {})})
        # BigQuery writes as many files as it likes.
        pq.write_table(table.slice(0, 50), folder / "000000000000.parquet")
        pq.write_table(table.slice(50), folder / "000000000001.parquet")
        return folder, labels, shares

    return make


def arguments(folder, output, metric="loss"):
    return ["--rows", str(folder), "--metric", metric, "--output", str(output)]


def test_each_run_has_the_scores_of_scikit_learn(labelled, tmp_path):
    folder, labels, shares = labelled()
    output = tmp_path / "performance.json"
    assert performance.main(arguments(folder, output)) == 0
    found = PerformanceFile.parse(output.read_text(), "performance.json").runs
    assert list(found) == ["monday", "tuesday"]
    for run, rows in {"monday": slice(0, 60), "tuesday": slice(60, 120)}.items():
        expected = {
            "accuracy": accuracy_score(labels[rows], shares[rows].argmax(1)),
            "auc": roc_auc_score(labels[rows], shares[rows, 1]),
            "log_loss": log_loss(labels[rows], shares[rows]),
        }
        assert (found[run].examples, found[run].groups) == (60, None)
        # As a leaderboard that ranks by the loss calls it.
        assert found[run].primary == "log_loss"
        for name, value in expected.items():
            score = found[run].metrics[name]
            assert score.value == pytest.approx(value, abs=2e-6)
            assert score.low < value < score.high
    assert found["monday"].metrics["auc"] != found["tuesday"].metrics["auc"]


@pytest.fixture
def times(labelled):
    """Writes the rows of two runs of predictions of a survival: the folder, and what the
    leaderboard would score of each run, which knows the curve at more times.
    """

    def make(event=None):
        random = np.random.default_rng(3)
        risks = random.normal(size=120)
        days, left = random.exponential(400 * np.exp(-risks)), random.exponential(900, 120)
        labels = np.stack([np.minimum(days, left), days <= left], axis=1)
        event_of = SURVIVAL["label"]["event"]
        curves = np.exp(-np.exp(risks)[:, None] * np.array(event_of["times"]) / 400)
        answers = [
            json.dumps({"risk": risk, "survival": {"365": year, "730": years}})
            for risk, (_, year, _, years) in zip(risks.tolist(), curves.tolist(), strict=True)
        ]
        event = event or pa.array(labels[:, 1].astype(int))
        rows = {"label": labels[:, 0], "label_event": event, "prediction": answers}
        folder, _, _ = labelled(rows, learned=SURVIVAL)
        whole = {
            run: SurvivalOutcome(
                labels[of], risks[of], curves[of], (*event_of["times"],), (*event_of["horizons"],)
            )
            for run, of in {"monday": slice(0, 60), "tuesday": slice(60, 120)}.items()
        }
        return folder, whole

    return make


def test_a_time_to_an_event_has_the_scores_of_the_leaderboard(times):
    folder, whole = times()
    found = performance.score(str(folder), "loss")
    for run, outcome in whole.items():
        # The server has answered the curve at the horizons alone.
        assert found[run].metrics.keys() == SURVIVAL_METRICS.keys() - {"integrated_brier"}
        for name, score in found[run].metrics.items():
            assert score.value == pytest.approx(SURVIVAL_METRICS[name].point(outcome), abs=2e-6)
            assert score.low < score.high
        concordance = found[run].metrics["concordance"]
        assert 0.6 < concordance.low < concordance.value < concordance.high < 1


def test_sets_of_classes_are_texts_with_bars(labelled):
    """The labels of a multi-label task; the empty text is of an example without a class."""
    sets = [["", "ill", "healthy|ill", "healthy"][n % 4] for n in range(120)]
    folder, _, shares = labelled({"label": sets}, learned={"task": "multilabel_classification"})
    found = performance.score(str(folder), "auc")["monday"]
    present = np.array([[name in one for name in CLASSES] for one in sets[:60]])
    expected = roc_auc_score(present, shares[:60], average="macro")
    assert found.metrics["auc"].value == pytest.approx(expected, abs=2e-6)
    assert found.metrics["auc"].low < expected < found.metrics["auc"].high


def test_a_metric_of_another_task_is_refused(labelled, tmp_path, capsys):
    folder, _, _ = labelled()
    assert performance.main(arguments(folder, tmp_path / "performance.json", "rmse")) == 1
    assert "unknown metric 'rmse' for a classification" in capsys.readouterr().err


def test_an_event_that_is_neither_is_refused(times, tmp_path, capsys):
    folder, _ = times(event=pa.array([2] * 120))
    assert performance.main(arguments(folder, tmp_path / "performance.json")) == 1
    assert "event is neither 0 nor 1" in capsys.readouterr().err


def test_decisions_are_by_the_model_s_threshold(labelled):
    folder, labels, shares = labelled(threshold={"class": "ill", "above": 0.9})
    found = performance.score(str(folder), "loss")["monday"].metrics["accuracy"].value
    assert found == pytest.approx(accuracy_score(labels[:60], shares[:60, 1] > 0.9), abs=2e-6)
    assert found != pytest.approx(accuracy_score(labels[:60], shares[:60].argmax(1)))


def test_of_groups_the_intervals_count_groups(labelled):
    folder, _, _ = labelled(by="patient")
    assert performance.score(str(folder), "loss")["monday"].groups == 6


@pytest.mark.parametrize(
    ("change", "by", "said"),
    [
        ({"label": ["ill"] * 119 + ["dead"]}, None, "labels that the model does not know: 1 class"),
        ({"key": ["one"] * 120}, None, "key"),
        ({"unit": pa.array([None] * 120, pa.string())}, "patient", "no value of 'patient'"),
    ],
)
def test_what_cannot_be_scored_is_refused(labelled, tmp_path, capsys, change, by, said):
    folder, _, _ = labelled(change, by)
    output = tmp_path / "performance.json"
    assert performance.main(arguments(folder, output)) == 1
    error = capsys.readouterr().err
    assert said in error
    assert "dead" not in error
    assert not output.exists()

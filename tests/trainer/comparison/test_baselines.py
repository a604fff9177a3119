"""Baselines in a run's folder: contenders like the trainings, or failed with a reason."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.wording import says
from trainer import predictions
from trainer.comparison.baselines import with_baselines
from trainer.comparison.held_out_split import read_held_out_split
from trainer.comparison.run_folder import read_run
from trainer.prediction_forms.classification import Predictions

LABELS = np.arange(40) % 2


@pytest.fixture
def run(table_run, classifier):
    folder = table_run(LABELS, ["false", "true"])
    return folder.contender(1, classifier(LABELS, 2, skill=2, seed=1))


def baselines(folder):
    run = read_run(folder.uri)
    found = with_baselines(run, read_held_out_split(run.dataset_uri, run.dataset))
    return {c.name: c for c in found.contenders if c.name.startswith("baselines/")}


def test_a_baseline_is_scored_from_what_the_service_wrote(run, classifier):
    shares = classifier(LABELS, 2, skill=3, seed=2)
    run.baseline("bqml-logistic_reg", run.exported(shares))
    (contender,) = baselines(run).values()
    assert (contender.name, contender.kind) == ("baselines/bqml-logistic_reg", "bqml")
    assert (contender.seconds, contender.cost_usd) == (41.26, 0.0512)
    assert contender.reason is None
    assert contender.predictions.probabilities == pytest.approx(shares, abs=1e-6)
    written = predictions.read(run.path / "baselines/bqml-logistic_reg/predictions.parquet")
    assert written.keys.tolist() == run.keys
    assert np.array_equal(written.probabilities, contender.predictions.probabilities)


def test_a_failed_one_keeps_its_reason(run):
    run.baseline("automl", status="failed", reason="quota exhausted")
    assert baselines(run)["baselines/automl"].reason == "quota exhausted"
    assert baselines(run)["baselines/automl"].kind == "automl"


def test_one_that_was_planned_and_left_nothing_is_a_failed_contender(run):
    run.plan({"baselines": ["automl"]})
    assert "there is no baseline.json" in baselines(run)["baselines/automl"].reason


def test_planned_ones_come_in_the_plans_order_and_then_what_is_found(run, classifier):
    raw = run.exported(classifier(LABELS, 2, skill=3, seed=2))
    run.plan({"baselines": ["bqml-logistic_reg", "automl"]})
    for name in ("automl", "bqml-dnn_classifier", "bqml-logistic_reg"):
        run.baseline(name, raw)
    assert [name.partition("/")[2] for name in baselines(run)] == [
        "bqml-logistic_reg",
        "automl",
        "bqml-dnn_classifier",
    ]


def test_predictions_that_cannot_be_scored_fail_the_baseline_alone(run, classifier):
    shares = classifier(LABELS, 2, skill=3, seed=2)
    run.baseline("bqml-logistic_reg", run.exported(shares, classes=["no", "yes"]))
    run.baseline("automl", run.exported(shares[1:], keys=run.keys[1:]))
    found = baselines(run)
    assert "predicts 2 classes, which are not among" in found["baselines/bqml-logistic_reg"].reason
    missing = found["baselines/automl"].reason
    assert says(missing, "39", "40", "1 missing", f"{run.uri}examples/automl.txt")


def test_one_that_says_it_succeeded_but_wrote_nothing_failed(run):
    run.baseline("automl")
    assert "no predictions: there is no" in baselines(run)["baselines/automl"].reason


def test_a_damaged_description_is_a_reason(run):
    (run.path / "baselines/automl").mkdir(parents=True)
    (run.path / "baselines/automl/baseline.json").write_text("{")
    assert "baseline.json is not JSON" in baselines(run)["baselines/automl"].reason


def wide(run, shares, **columns):
    """A file of one's own: a column for each class, the rows in another order than the split's."""
    by_class = {name: shares[:, i] for i, name in enumerate(run.classes)}
    table = pa.table({"key": run.keys, **by_class, **columns})
    return table.take(np.arange(len(run.keys))[::-1])


def test_a_file_of_ones_own_is_a_contender(run, classifier):
    shares = classifier(LABELS, 2, skill=3, seed=2)
    run.baseline("file-lab_xgb", wide(run, shares, note=["any"] * len(run.keys)), evaluation={})
    (contender,) = baselines(run).values()
    assert (contender.name, contender.kind) == ("baselines/file-lab_xgb", "file")
    assert contender.predictions.probabilities == pytest.approx(shares, abs=1e-6)


def test_a_file_may_be_another_trainings(run, classifier, tmp_path):
    """Classes may be in another order, and labels are not read."""
    shares = classifier(LABELS, 2, skill=3, seed=2)
    other = Predictions(run.keys, 1 - LABELS, shares[:, ::-1], ["true", "false"])
    predictions.write(tmp_path / "other.parquet", other)
    run.baseline("file-other", pq.read_table(tmp_path / "other.parquet"))
    assert baselines(run)["baselines/file-other"].predictions.probabilities == pytest.approx(shares)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda table: table.drop_columns(["true"]), "none for 1 class: expected one for each cl"),
        (lambda table: table.drop_columns(["key"]), "have no column 'key'"),
        (
            lambda table: table.set_column(2, "true", pa.array(["x"] * 40)),
            "column of predictions is of string",
        ),
    ],
)
def test_a_file_that_cannot_be_scored_says_why(run, classifier, change, reason):
    table = wide(run, classifier(LABELS, 2, skill=3, seed=2))
    run.baseline("file-lab", change(table))
    assert re.search(reason, baselines(run)["baselines/file-lab"].reason)

"""Mistakes that only some tasks know: what a regression or several labels cannot have."""

import pytest

from tests.trellis.workflow.spec.files import TABLE, UNTUNED, assert_named
from tests.wording import says
from trellis.workflow.spec.problems import FileError
from trellis.workflow.validation.file import load


def test_what_a_task_does_not_read_is_refused(write):
    text = TABLE
    for old, new in [
        ("binary_classification", "regression"),
        ("maximize: auc", "minimize: rmse"),
        ("learning_rate: {from: 1e-4, to: 1e-1, scale: log}", "label_smoothing: {from: 0, to: 1}"),
    ]:
        text = text.replace(old, new)
    with pytest.raises(FileError) as raised:
        load(write(text))
    (found,) = [p for p in raised.value.problems if "label_smoothing" in p.field]
    assert found.message.startswith("has no effect for regression")
    assert says(found.message, "multiclass_classification", "binary_classification")


NUMBERS = UNTUNED.replace("multiclass_classification", "regression").replace(
    "maximize: balanced_accuracy", "minimize: rmse"
)


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("minimize: rmse", "maximize: balanced_accuracy", 11, "train.maximize",
         "unknown metric 'balanced_accuracy' of regression"),
        ("units: 64", "mix: mixup", 9, "hyperparameters.mix",
         "has no effect for regression on a source of images, only for images and only for the "
         "tasks multiclass_classification, binary_classification, multilabel_classification: leave "
         "it out"),
        ("units: 64", "loss: focal", 9, "hyperparameters.loss", "has no effect for regression"),
        ("units: 64", "class_weights: balanced", 9, "hyperparameters.class_weights",
         "has no effect for regression"),
        ("train:", "baselines: {automl: {node_hours: 8}}\ntrain:", 10, "baselines.automl",
         "AutoML learns classes of images, no numbers: leave it out"),
        ("train:", "calibrate: temperature\ntrain:", 10, "calibrate",
         "it corrects probabilities, and the task is regression: leave it out"),
        ("train:", "abstain: 0.1\ntrain:", 10, "abstain", "and the task is regression"),
        ("train:", "baselines: {bqml: [linear_reg]}\ntrain:", 10, "baselines.bqml",
         "BigQuery ML learns from columns, and the examples are images alone"),
        ("train:", "deploy: {gate: {require: {accuracy: 0.8}}}\ntrain:", 10,
         "deploy.gate.require.accuracy", "unknown metric 'accuracy' of regression"),
    ],
)  # fmt: skip
def test_a_mistake_with_numbers_of_images_is_named_too(write, old, new, line, field, message):
    load(write(NUMBERS))
    assert_named(write, NUMBERS, old, new, line, field, message)


SEVERAL = UNTUNED.replace("multiclass_classification", "multilabel_classification").replace(
    "maximize: balanced_accuracy", "maximize: average_precision"
)


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("train:", "decision: {maximize: f1}\ntrain:", 10, "decision",
         "a threshold is between two classes, and the task is multilabel_classification"),
        ("train:", "abstain: 0.1\ntrain:", 10, "abstain", "of one class each"),
        ("train:", "coverage: 0.9\ntrain:", 10, "coverage", "sets have one true class"),
        ("train:", "baselines: {automl: {node_hours: 8}}\ntrain:", 10, "baselines.automl",
         "is trained on one class of each example, not several: leave it out"),
        ("train:", "deploy: {gate: {require: {ece: 0.1}}}\ntrain:", 10,
         "deploy.gate.require.ece", "unknown metric 'ece' of multilabel_classification"),
    ],
)  # fmt: skip
def test_a_mistake_with_several_labels_is_named_too(write, old, new, line, field, message):
    load(write(SEVERAL))
    assert_named(write, SEVERAL, old, new, line, field, message)


def test_several_labels_of_rows_have_no_baselines_and_no_strata(write):
    text = TABLE.replace("binary_classification", "multilabel_classification")
    text = text.replace("  key: ", "  split: {stratify: ward}\n  key: ", 1)
    with pytest.raises(FileError) as raised:
        load(write(text))
    found = {problem.field: problem.message for problem in raised.value.problems}
    assert found[("source", "split", "stratify")].startswith("divides the rows of one class each")
    assert found[("baselines", "bqml")].startswith("BigQuery ML learns one class of each row")
    assert found[("baselines", "automl")].startswith("is trained on one class of each example")


TIMES = """\
# Time to an event.
owner: lab
budget: 6 USD
source:
  bigquery: research.cells
  key: sample_id
  label: {time: days, event: died, horizons: [365, 1825]}
model: dense
task: time_to_event
hyperparameters:
  objective: hazards
train:
  maximize: concordance
  epochs: 10
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("{time: days, event: died, horizons: [365, 1825]}", "days", 7, "source.label",
         "'days' is one column, and a time_to_event has two"),
        ("task: time_to_event", "task: regression", 7, "source.label",
         "the time and the event are for the task time_to_event, and it is regression"),
        ("event: died", "event: days", 7, "source.label.event", "'days' is the label already"),
        ("[365, 1825]", "[1825, 365]", 7, "source.label", "which rise from above 0"),
        ("[365, 1825]", "[0]", 7, "source.label", "which rise from above 0"),
        ("event: died", "status: died", 7, "source.label", "unknown key 'status'"),
        ("maximize: concordance", "minimize: loss", 13, "train.minimize",
         "unknown metric 'loss' of time_to_event"),
        ("maximize: concordance", "minimize: horizon_calibration", 13, "train.minimize",
         "unknown metric 'horizon_calibration' of time_to_event"),
        ("objective: hazards", "class_weights: balanced", 11, "hyperparameters.class_weights",
         "has no effect for time_to_event"),
        ("  objective: hazards", "  objective: cox\n  intervals: 5", 12,
         "hyperparameters.intervals", "has no effect"),
        ("train:", "calibrate: temperature\ntrain:", 12, "calibrate",
         "it corrects probabilities, and the task is time_to_event"),
        ("train:", "coverage: 0.9\ntrain:", 12, "coverage", "and the task is time_to_event"),
        ("  epochs: 10", "  epochs: 10\n  folds: 5", 15, "train.folds", "have no common scale"),
        ("train:", "abstain: 0.1\ntrain:", 12, "abstain", "and the task is time_to_event"),
        ("train:", "decision: {maximize: f1}\ntrain:", 12, "decision",
         "and the task is time_to_event"),
        ("train:", "positive: died\ntrain:", 12, "positive", "and the task is time_to_event"),
        ("train:", "baselines: {bqml: [linear_reg]}\ntrain:", 12, "baselines.bqml",
         "BigQuery ML has no model of censored times"),
        ("train:", "baselines: {automl: {node_hours: 1}}\ntrain:", 12, "baselines.automl",
         "AutoML has no model of censored times"),
        ("train:", "deploy: {gate: {require: {auc: 0.8}}}\ntrain:", 12,
         "deploy.gate.require.auc", "unknown metric 'auc' of time_to_event"),
        ("train:", "deploy: {gate: {recall: 0.8}}\ntrain:", 12, "deploy.gate.recall",
         "a time_to_event has no classes"),
        ("train:", "deploy: {gate: {require: {horizon_auc@90: 0.7}}}\ntrain:", 12,
         "deploy.gate.require.horizon_auc@90", "unknown horizon '90'; expected one of 365, 1825"),
        ("train:", "deploy: {gate: {require: {horizon_auc@365: 7}}}\ntrain:", 12,
         "deploy.gate.require.horizon_auc@365", "got 7; expected a number above 0, at most 1"),
        ("train:", "deploy: {gate: {require: {concordance@365: 0.7}}}\ntrain:", 12,
         "deploy.gate.require.concordance@365", "'concordance' is no average over parts"),
        ("train:", "deploy: {gate: {slices: {horizon_auc@365: 0.7}}}\ntrain:", 12,
         "deploy.gate.slices.horizon_auc@365", "a slice is judged by the whole 'horizon_auc'"),
    ],
)  # fmt: skip
def test_a_mistake_with_times_to_an_event_is_named_too(write, old, new, line, field, message):
    load(write(TIMES))
    assert_named(write, TIMES, old, new, line, field, message)


MASKS = """\
# Segmentation.
owner: lab
budget: 6 USD
source:
  images: manifest.csv
  size: 64
  masks: [background, cell]
model: unet
task: segmentation
train:
  maximize: dice
  epochs: 10
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("train:", "baselines: {bqml: [linear_reg]}\ntrain:", 10, "baselines.bqml",
         "BigQuery ML has no model of masks"),
        ("train:", "baselines: {automl: {node_hours: 8}}\ntrain:", 10, "baselines.automl",
         "AutoML learns classes of images, no masks"),
        ("train:", "baselines: {files: {ours: a.csv}}\ntrain:", 10, "baselines.files",
         "a file of predictions has a class or a number"),
        ("  epochs: 10", "  epochs: 10\n  seeds: 2\n  ensemble: true", 14, "train.ensemble",
         "masks have no mean"),
        ("  epochs: 10", "  epochs: 10\n  folds: 5", 13, "train.folds",
         "masks of several folds' models are not brought together"),
        ("train:", "calibrate: temperature\ntrain:", 10, "calibrate",
         "it corrects probabilities, and the task is segmentation"),
        ("train:", "coverage: 0.9\ntrain:", 10, "coverage", "and the task is segmentation"),
        ("train:", "abstain: 0.1\ntrain:", 10, "abstain", "and the task is segmentation"),
        ("maximize: dice", "minimize: boundary_distance", 11, "train.minimize",
         "unknown metric 'boundary_distance' of segmentation"),
    ],
)  # fmt: skip
def test_a_mistake_with_masks_is_named_too(write, old, new, line, field, message):
    load(write(MASKS))
    assert_named(write, MASKS, old, new, line, field, message)


def test_a_horizon_must_have_a_name_before_a_gate_bounds_it(write):
    gate = "deploy: {gate: {require: {horizon_auc@365: 0.7}}}\ntrain:"
    text = TIMES.replace("train:", gate, 1)
    assert load(write(text)).deployment.gate.require == {"horizon_auc@365": 0.7}
    with pytest.raises(FileError, match=r"no horizon has a name yet: .*horizons: \[365\]"):
        load(write(text.replace(", horizons: [365, 1825]", "")))


def test_a_manifest_has_no_time_to_an_event(write):
    text = NUMBERS.replace("regression", "time_to_event").replace(
        "minimize: rmse", "maximize: concordance"
    )
    with pytest.raises(FileError) as raised:
        load(write(text))
    (found,) = [p for p in raised.value.problems if p.field == ("task",)]
    assert "image_columns" in found.message

"""Tasks whose labels are not one class for each example; the trainer's schema has all tasks."""

MULTILABEL = "multilabel_classification"
REGRESSION = "regression"

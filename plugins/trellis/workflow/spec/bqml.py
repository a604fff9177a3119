"""BigQuery ML's model types, as far as they can be baselines.

Options are those that make a type train on exactly our split, and those that a file sets
(trellis.workflow.spec.bqml_options); all others are BigQuery's defaults, which is what a baseline
is for.
https://cloud.google.com/bigquery/docs/reference/standard-sql/bigqueryml-syntax-create
"""

from collections.abc import Mapping
from dataclasses import dataclass

from trellis.identity import label_value

CLASSIFICATION = ("binary_classification", "multiclass_classification")
REGRESSION = ("regression",)

OF_FOLD = r"(_fold_\d+_\d+)?"
"""A pattern of what `model_name` ends with in a fold, or without folds."""

MOST_CLASSES = 50
"""Values that a label may have: input_label_cols of
https://cloud.google.com/bigquery/docs/reference/standard-sql/bigqueryml-syntax-create-glm"""


@dataclass(frozen=True)
class ModelType:
    """One type of model.

    importance: the function of BigQuery ML that says what matters to such a model, or None.
    external: trained by Vertex AI on BigQuery's behalf, and billed as such. weighted: learns from
    rows with weights (INSTANCE_WEIGHT_COL); the others count all rows the same.
    """

    tasks: tuple[str, ...]
    importance: str | None
    external: bool
    weighted: bool = False

    @property
    def regression(self) -> bool:
        return self.tasks == REGRESSION


TYPES: Mapping[str, ModelType] = {
    "logistic_reg": ModelType(CLASSIFICATION, "ML.WEIGHTS", external=False),
    "linear_reg": ModelType(REGRESSION, "ML.WEIGHTS", external=False),
    "boosted_tree_classifier": ModelType(
        CLASSIFICATION, "ML.FEATURE_IMPORTANCE", external=True, weighted=True
    ),
    "boosted_tree_regressor": ModelType(
        REGRESSION, "ML.FEATURE_IMPORTANCE", external=True, weighted=True
    ),
    "dnn_classifier": ModelType(CLASSIFICATION, None, external=True),
    "dnn_regressor": ModelType(REGRESSION, None, external=True),
}


def fitting(task: str) -> list[str]:
    """The types that learn a task."""
    return [name for name, kind in TYPES.items() if task in kind.tasks]


def model_name(experiment: str, type_: str, folder: str, part: str | None = None) -> str:
    """The name in the group's dataset of a run's model. folder: of the run. part: the fold that it
    learns in.
    """
    of_fold = f"_fold_{part}" if part else ""
    return f"{experiment}_{type_}_{label_value(folder)}{of_fold}".replace("-", "_")

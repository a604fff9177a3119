"""The section `baselines` of an experiment file: models that the trainings are compared with."""

from typing import Annotated

from trellis.workflow.spec import bqml_options
from trellis.workflow.spec.quantities import Form, Object, Scalar
from trellis.workflow.spec.sections import Section, key

MOST_CLASSES_OF_ROWS = 500
"""Classes that AutoML learns from a table: "Data structure requirements" of
https://cloud.google.com/vertex-ai/docs/tabular-data/classification-regression/prepare-data"""


class AutoML(Section):
    """A model that Vertex AI AutoML searches for."""

    node_hours: float = key(
        "training budget; tables 1 to 72, images 8 to 800", unit="node hours", ge=1, le=800
    )


Options = Annotated[
    dict[str, dict[str, Scalar]],
    Form("options by type, as in {logistic_reg: {l2_reg: 1}}", bqml_options.schema()),
]
"""Options of BigQuery ML models, which `validation` checks."""


class Baselines(Section):
    """Models for comparison, trained and scored on the same examples."""

    bqml: list[str] = key("BigQuery ML models, by type, one baseline each", [])
    options: Options = key("options of CREATE MODEL, by type of `bqml`", {})
    automl: AutoML | None = key("one AutoML model", None)
    files: dict[str, Object] = key(
        "predictions that were made elsewhere, by a name of your own: a Parquet file with one for "
        "each key of the test split",
        {},
    )

    @property
    def services(self) -> int:
        """Number of models that BigQuery ML and AutoML train."""
        return len(self.bqml) + (self.automl is not None)

    @property
    def count(self) -> int:
        return self.services + len(self.files)

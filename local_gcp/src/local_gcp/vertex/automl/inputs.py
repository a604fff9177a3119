"""Checks the `training_task_inputs` of AutoML's training pipelines.

The fields and their bounds are those of AutoMlTablesInputs and AutoMlImageClassificationInputs
(google.cloud.aiplatform.v1.schema.trainingjob.definition). A field may be written in camelCase or
snake_case; null means that it is not given.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.wire import RpcError, not_emulated

_HOUR = 3600.0
CLASSIFICATION, REGRESSION = "classification", "regression"
OBJECTIVES = {
    CLASSIFICATION: (
        "maximize-au-roc",
        "minimize-log-loss",
        "maximize-au-prc",
        "maximize-precision-at-recall",
        "maximize-recall-at-precision",
    ),
    REGRESSION: ("minimize-rmse", "minimize-mae", "minimize-rmsle"),
}
KINDS = ("auto", "numeric", "categorical", "timestamp", "text", "repeated_numeric")
"""Kinds of transformations, as far as they are emulated."""
_MODEL_TYPES = {
    # (least, largest, default) budget in milli node hours, and the nodes it is shared by
    "CLOUD": (8_000, 800_000, 192_000, 8),
    "MOBILE_TF_LOW_LATENCY_1": (1_000, 100_000, 24_000, 1),
    "MOBILE_TF_VERSATILE_1": (1_000, 100_000, 24_000, 1),
    "MOBILE_TF_HIGH_ACCURACY_1": (1_000, 100_000, 24_000, 1),
}


@dataclasses.dataclass(frozen=True)
class Transformation:
    """Transformation of a column."""

    column: str
    kind: str = "auto"
    time_format: str = ""
    """Format of a timestamp: unix-seconds, ..., strftime's syntax; "" is RFC 3339."""
    nullable: bool = True
    """True if a row may lack a (valid) value; else it is left out."""


@dataclasses.dataclass(frozen=True)
class TabularInputs:
    """AutoMlTablesInputs."""

    target: str
    prediction_type: str
    transformations: tuple[Transformation, ...]
    """Empty: every column but the target is transformed by itself."""
    objective: str | None
    objective_value: float | None
    """The recall, or precision, at which the other is maximized."""
    budget: float
    """Seconds that the training may take."""
    early_stopping: bool
    weight: str | None
    export: Mapping[str, Any] | None
    """exportEvaluatedDataItemsConfig: uri ("" makes a dataset) and override."""


@dataclasses.dataclass(frozen=True)
class ImageInputs:
    """AutoMlImageClassificationInputs."""

    budget: float
    early_stopping: bool
    nodes: int
    """Number of the machines that Google would use: they share the budget's node hours."""


def tabular(sent: Any, field: str) -> TabularInputs:
    """Checked inputs of automl_tabular_1.0.0.yaml; INVALID_ARGUMENT or UNIMPLEMENTED."""
    given = _Fields(sent, field)
    kind = given.text("predictionType")
    if kind not in OBJECTIVES:
        raise given.wrong("predictionType", f"{kind!r} is not one of {', '.join(OBJECTIVES)}.")
    objective = given.text("optimizationObjective", required=False)
    if objective and objective not in OBJECTIVES[kind]:
        known = ", ".join(OBJECTIVES[kind])
        raise given.wrong("optimizationObjective", f"{objective!r} is not one of {known}.")
    value = _objective_value(given, objective)
    budget = given.integer("trainBudgetMilliNodeHours", 1_000, 72_000)
    if experiments := given.take("additionalExperiments"):
        raise not_emulated(f"{field}.additionalExperiments {experiments}")
    result = TabularInputs(
        target=given.text("targetColumn"),
        prediction_type=kind,
        transformations=tuple(_transformations(given.take("transformations"), field)),
        objective=objective or None,
        objective_value=value,
        budget=budget / 1000 * _HOUR,
        early_stopping=not given.boolean("disableEarlyStopping"),
        weight=given.text("weightColumnName", required=False) or None,
        export=_export(given.take("exportEvaluatedDataItemsConfig"), field),
    )
    given.check_empty()
    if result.target in (t.column for t in result.transformations):
        raise given.wrong("transformations", f"The target {result.target!r} cannot be a feature.")
    if result.weight == result.target:
        raise given.wrong("weightColumnName", "It is the target column.")
    return result


def image_classification(sent: Any, field: str) -> ImageInputs:
    """Checked inputs of automl_image_classification_1.0.0.yaml, likewise."""
    given = _Fields(sent, field)
    model_type = given.text("modelType", required=False) or "CLOUD"
    if model_type not in _MODEL_TYPES:
        raise not_emulated(
            f"{field}.modelType {model_type!r}", f"There are {', '.join(_MODEL_TYPES)}."
        )
    for name in ("baseModelId", "uptrainBaseModelId", "tunableParameter"):
        if given.take(name):
            raise not_emulated(f"{field}.{name}", "A model is trained from scratch.")
    if given.boolean("multiLabel"):
        raise not_emulated(f"{field}.multiLabel", "Give each image one label.")
    least, largest, default, nodes = _MODEL_TYPES[model_type]
    budget = given.integer("budgetMilliNodeHours", least, largest, default)
    early_stopping = not given.boolean("disableEarlyStopping")
    given.check_empty()
    return ImageInputs(budget / 1000 * _HOUR / nodes, early_stopping, nodes)


_WIDE = {"trainBudgetMilliNodeHours", "budgetMilliNodeHours"}
"""Fields of 64 bits, which Google's JSON has as text."""


def answered(sent: Any) -> Any:
    """Checked inputs as the answers of Vertex AI have them: names in camelCase, numbers of 64 bits
    as text, and without fields that have their default.
    """
    if isinstance(sent, list):
        return [answered(item) for item in sent]
    if not isinstance(sent, dict):
        return sent
    fields: dict[str, Any] = {_camel(name): answered(value) for name, value in sent.items()}
    return {
        name: str(int(value)) if name in _WIDE else value
        for name, value in fields.items()
        if value or isinstance(value, dict)
    }


def _objective_value(given: _Fields, objective: str) -> float | None:
    wanted = {
        "maximize-precision-at-recall": "optimizationObjectiveRecallValue",
        "maximize-recall-at-precision": "optimizationObjectivePrecisionValue",
    }
    result = None
    for name in wanted.values():
        value = given.take(name)
        if wanted.get(objective) == name:
            if not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise given.wrong(name, f"{REQUIRED} {objective} needs a number from 0 to 1.")
            result = float(value)
        elif value is not None:
            raise given.wrong(name, f"The objective {objective or '(default)'} does not use it.")
    return result


def _transformations(sent: Any, field: str) -> Iterable[Transformation]:
    seen: set[str] = set()
    for number, entry in enumerate(sent or []):
        where = f"{field}.transformations[{number}]"
        if not isinstance(entry, dict) or len(entry) != 1:
            raise invalid_field(where, "Expected an object with one transformation.")
        ((kind, details),) = entry.items()
        kind = _snake(kind)
        if kind not in KINDS:
            raise not_emulated(f"{where}.{kind}", f"There are {', '.join(KINDS)}.")
        given = _Fields(details, f"{where}.{kind}")
        column = given.text("columnName")
        strict = kind in ("numeric", "timestamp", "repeated_numeric")
        result = Transformation(
            column,
            kind,
            given.text("timeFormat", required=False) if kind == "timestamp" else "",
            given.boolean("invalidValuesAllowed") if strict else True,
        )
        given.check_empty()
        if column in seen:
            raise invalid_field(where, f"The column {column!r} has a transformation already.")
        seen.add(column)
        yield result


def _export(sent: Any, field: str) -> dict[str, Any] | None:
    if sent is None:
        return None
    given = _Fields(sent, f"{field}.exportEvaluatedDataItemsConfig")
    uri = given.text("destinationBigqueryUri", required=False)
    override = given.boolean("overrideExistingTable")
    given.check_empty()
    return {"uri": uri, "override": override}


class _Fields:
    """A JSON object whose fields are taken one by one; what is left at the end is unknown."""

    def __init__(self, sent: Any, field: str):
        if not isinstance(sent, dict):
            raise invalid_field(field, f"Expected an object, got {sent!r}.")
        self.field = field
        self._left = {_snake(name): value for name, value in sent.items() if value is not None}

    def take(self, name: str) -> Any:
        return self._left.pop(_snake(name), None)

    def text(self, name: str, required: bool = True) -> str:
        value = self.take(name)
        if value is None and not required:
            return ""
        if not isinstance(value, str) or (required and not value):
            raise self.wrong(name, REQUIRED if value is None else f"{value!r} is not a text.")
        return value

    def boolean(self, name: str) -> bool:
        value = self.take(name)
        if value not in (None, True, False):
            raise self.wrong(name, f"{value!r} is neither true nor false.")
        return bool(value)

    def integer(self, name: str, least: int, largest: int, default: int | None = None) -> int:
        value = self.take(name)
        value = default if value is None else value
        try:
            number = int(value)  # an int64 may come as text
        except (TypeError, ValueError):
            raise self.wrong(name, f"{value!r} is not a whole number.") from None
        if not least <= number <= largest:
            raise self.wrong(name, f"{number} is not from {least} to {largest}.")
        return number

    def wrong(self, name: str, problem: str) -> RpcError:
        return invalid_field(f"{self.field}.{name}", problem)

    def check_empty(self) -> None:
        for name in self._left:
            raise self.wrong(name, "There is no such field.")


def _camel(name: str) -> str:
    return re.sub("_([a-z])", lambda match: match[1].upper(), name)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()

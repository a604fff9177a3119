"""The table of ML.* functions, with the arguments of each, and their calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from local_gcp.bigquery.errors import BigQueryError, invalid_query, not_emulated
from local_gcp.bigquery.schema import arrow_schema, field_from_arrow

from . import answers, inspection
from .answers import Arguments, Fields
from .training import Trained

_LINEAR = ("LINEAR_REG", "LOGISTIC_REG")
_TREES = ("BOOSTED_TREE_CLASSIFIER", "BOOSTED_TREE_REGRESSOR")
_CLASSIFIERS = ("LOGISTIC_REG", "BOOSTED_TREE_CLASSIFIER", "DNN_CLASSIFIER")
_ALL = (*_LINEAR, *_TREES, "DNN_CLASSIFIER", "DNN_REGRESSOR")


@dataclass(frozen=True)
class Function:
    """`input`: "required", "optional" or "none". `arguments`: names allowed in its STRUCT."""

    fields: Callable[..., Fields]
    run: Callable[..., Any]
    input: str = "none"
    models: tuple[str, ...] = _ALL
    arguments: tuple[str, ...] = ()


_FUNCTIONS = {
    "PREDICT": Function(
        answers.predict_fields,
        answers.predict,
        "required",
        arguments=("threshold",),
    ),
    "EVALUATE": Function(
        answers.evaluate_fields, answers.evaluate, "optional", arguments=("threshold",)
    ),
    "CONFUSION_MATRIX": Function(
        answers.confusion_fields, answers.confusion, "optional", _CLASSIFIERS, ("threshold",)
    ),
    "ROC_CURVE": Function(
        answers.roc_fields, answers.roc, "optional", _CLASSIFIERS, ("thresholds",)
    ),
    "TRAINING_INFO": Function(inspection.training_fields, inspection.training),
    "FEATURE_INFO": Function(inspection.feature_fields, inspection.feature_info),
    "FEATURE_IMPORTANCE": Function(
        inspection.importance_fields, inspection.importance, models=_TREES
    ),
    "WEIGHTS": Function(
        inspection.weights_fields, inspection.weights, models=_LINEAR, arguments=("standardize",)
    ),
}


def fields(name: str, model: Trained, given: Fields | None, options: Arguments) -> Fields:
    """The columns of a call, without running it.

    `name`: "ML.PREDICT" or "PREDICT". `given`: the input's columns, None without input.
    Raises the BigQueryErrors of the call that depend on columns only.
    """
    name, function, options = _checked(name, model, given is not None, options)
    if given is not None:
        _check_columns(name, model, given)
    return function.fields(model, given, options)


def call(name: str, model: Trained, rows: pa.Table | None, options: Arguments) -> pa.Table:
    """The result, with exactly the columns of `fields`."""
    name, function, options = _checked(name, model, rows is not None, options)
    given = None if rows is None else _given(rows)
    schema = arrow_schema(function.fields(model, given, options))
    found = function.run(model, rows, options)
    if name != "PREDICT":
        return pa.Table.from_pylist([{n: r[n] for n in schema.names} for r in found], schema)
    kept = [rows[n] for n in schema.names[len(found) :]]
    typed = [
        array if array.type == wanted.type else array.cast(wanted.type)
        for array, wanted in zip([*found, *kept], schema, strict=True)
    ]
    return pa.Table.from_arrays(typed, schema=schema)


def _given(rows: pa.Table) -> Fields:
    return tuple(field_from_arrow(f) for f in rows.schema)


def _checked(
    name: str, model: Trained, has_input: bool, options: Arguments
) -> tuple[str, Function, Arguments]:
    name = name.upper().removeprefix("ML.")
    function = _FUNCTIONS.get(name)
    if function is None:
        raise not_emulated(f"ML.{name}")
    options = {key.lower(): value for key, value in options.items() if value is not None}

    def require(condition: bool, message: str) -> None:
        if not condition:
            raise invalid_query(f"Invalid table-valued function ML.{name}\n{message}")

    kind = model.model_type
    require(kind in function.models, f"ML.{name} does not support models of type {kind}.")
    require(
        name != "ROC_CURVE" or len(model.classes) == 2,
        "ML.ROC_CURVE supports binary classification models only.",
    )
    require(has_input or function.input != "required", f"ML.{name} requires input data.")
    require(not has_input or function.input != "none", f"ML.{name} takes no input data.")
    for key in options:
        if key == "trial_id":
            raise not_emulated("hyperparameter tuning (trial_id)")
        require(key in function.arguments, f"Unknown argument {key} of ML.{name}.")
    options = {key: _READ[key](key, value, name) for key, value in options.items()}
    if "threshold" in options:
        require(
            len(model.classes) == 2, "THRESHOLD can be used with binary classification models only."
        )
        require(has_input, "THRESHOLD can be used with input data only.")
    return name, function, options


def _number(key: str, value: Any, function: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise _wrong(key, value, "a FLOAT64", function) from None


def _numbers(key: str, value: Any, function: str) -> list[float]:
    if not isinstance(value, list | tuple):
        raise _wrong(key, value, "an ARRAY<FLOAT64>", function)
    return [_number(key, item, function) for item in value]


def _bool(key: str, value: Any, function: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(key, value, "a BOOL", function)
    return value


def _wrong(key: str, value: Any, wanted: str, function: str) -> BigQueryError:
    return invalid_query(
        f"Invalid table-valued function ML.{function}\n{key} must be {wanted}, not {value}."
    )


_READ = {
    "threshold": _number,
    "thresholds": _numbers,
    "standardize": _bool,
}


def _check_columns(name: str, model: Trained, given: Fields) -> None:
    """Raise the call's errors for missing columns and wrong types, before it runs."""
    empty = arrow_schema(given).empty_table()
    model.encoder.transform(empty, name)
    if name != "PREDICT":
        answers.label_column(model, empty, name)

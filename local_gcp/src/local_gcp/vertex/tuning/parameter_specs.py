"""Converts the API's ParameterSpecs to the search space, or reports errors by field."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from google.cloud import aiplatform_v1 as api

from local_gcp.field_errors import REQUIRED
from local_gcp.vertex.tuning.problems import NOT_EMULATED, Problems
from local_gcp.vertex.tuning.space import (
    Categorical,
    Discrete,
    Double,
    Integer,
    Parameter,
    Scale,
)

_FIELD = "study_spec.parameters"
_MAX_DISCRETE_VALUES = 1000
_MIN_DISCRETE_GAP = 1e-10


def read_parameters(
    specs: Sequence[api.StudySpec.ParameterSpec], problems: Problems
) -> tuple[Parameter, ...]:
    """The valid parameters; errors of the others are added to `problems`."""
    _check_parameter_ids(specs, problems)
    found = (_parameter(spec, f"{_FIELD}[{i}]", problems) for i, spec in enumerate(specs))
    return tuple(parameter for parameter in found if parameter)


def _check_parameter_ids(specs: Sequence[api.StudySpec.ParameterSpec], problems: Problems) -> None:
    if not specs:
        problems.add(_FIELD, f"{REQUIRED} Name at least one parameter to tune.")
    seen: set[str] = set()
    for i, spec in enumerate(specs):
        field = f"{_FIELD}[{i}].parameter_id"
        problems.check_id(field, spec.parameter_id)
        if spec.parameter_id in seen:
            problems.add(field, f"{spec.parameter_id!r} is there twice.")
        seen.add(spec.parameter_id)


def _parameter(
    spec: api.StudySpec.ParameterSpec, field: str, problems: Problems
) -> Parameter | None:
    before = len(problems)
    if spec.conditional_parameter_specs:
        inner = ", ".join(c.parameter_spec.parameter_id for c in spec.conditional_parameter_specs)
        problems.add(
            f"{field}.conditional_parameter_specs",
            f"{NOT_EMULATED}: conditional parameters ({inner}).",
        )
    kind = api.StudySpec.ParameterSpec.pb(spec).WhichOneof("parameter_value_spec")
    if kind is None:
        problems.add(
            field,
            f"{spec.parameter_id!r} needs one of double_value_spec, integer_value_spec, "
            "discrete_value_spec, categorical_value_spec.",
        )
        return None
    values = getattr(spec, kind)
    field = f"{field}.{kind}"
    if "default_value" in values:
        problems.add(
            f"{field}.default_value",
            "Supported by Vertex AI Vizier only, not by HyperparameterTuningJob; leave it unset.",
        )
    scale = _scale(spec, field.rpartition(".")[0], problems)
    if kind in ("double_value_spec", "integer_value_spec"):
        _check_range(values, field, scale, problems)
        make = Double if kind == "double_value_spec" else Integer
        parameter: Parameter = make(spec.parameter_id, values.min_value, values.max_value, scale)
    elif kind == "discrete_value_spec":
        _check_discrete(values.values, field, scale, problems)
        parameter = Discrete(spec.parameter_id, tuple(values.values))
    else:
        _check_categories(spec, field, problems)
        parameter = Categorical(spec.parameter_id, tuple(values.values))
    return parameter if len(problems) == before else None


def _scale(spec: api.StudySpec.ParameterSpec, field: str, problems: Problems) -> Scale:
    kinds = api.StudySpec.ParameterSpec.ScaleType
    known = {
        kinds.SCALE_TYPE_UNSPECIFIED: Scale.LINEAR,
        kinds.UNIT_LINEAR_SCALE: Scale.LINEAR,
        kinds.UNIT_LOG_SCALE: Scale.LOG,
        kinds.UNIT_REVERSE_LOG_SCALE: Scale.REVERSE_LOG,
    }
    if spec.scale_type not in known:
        problems.add(f"{field}.scale_type", f"There is no scale number {spec.scale_type}.")
    return known.get(spec.scale_type, Scale.LINEAR)


def _check_range(
    values: api.StudySpec.ParameterSpec.DoubleValueSpec
    | api.StudySpec.ParameterSpec.IntegerValueSpec,
    field: str,
    scale: Scale,
    problems: Problems,
) -> None:
    low, high = values.min_value, values.max_value
    if not (math.isfinite(low) and math.isfinite(high)):
        problems.add(field, f"The bounds must be finite, not {low} and {high}.")
    elif low > high:
        problems.add(f"{field}.min_value", f"{low} is greater than max_value ({high}).")
    elif scale is not Scale.LINEAR and low <= 0:
        problems.add(
            f"{field}.min_value", f"{low} is not positive, which a logarithmic scale needs."
        )


def _check_discrete(values: Sequence[float], field: str, scale: Scale, problems: Problems) -> None:
    field = f"{field}.values"
    if not values:
        problems.add(field, f"{REQUIRED} List at least one value.")
    elif len(values) > _MAX_DISCRETE_VALUES:
        problems.add(field, f"{len(values)} values; at most {_MAX_DISCRETE_VALUES} are allowed.")
    elif not all(map(math.isfinite, values)):
        problems.add(field, "The values must be finite.")
    else:
        for left, right in itertools.pairwise(values):
            if right - left < _MIN_DISCRETE_GAP:
                problems.add(
                    field,
                    f"{right} follows {left}; they must increase by at least {_MIN_DISCRETE_GAP}.",
                )
        if scale is not Scale.LINEAR and values[0] <= 0:
            problems.add(field, f"{values[0]} is not positive, which a logarithmic scale needs.")


def _check_categories(spec: api.StudySpec.ParameterSpec, field: str, problems: Problems) -> None:
    values = spec.categorical_value_spec.values
    if not values:
        problems.add(f"{field}.values", f"{REQUIRED} List at least one value.")
    for value in sorted({v for v in values if list(values).count(v) > 1}):
        problems.add(f"{field}.values", f"{value!r} is there twice.")
    if spec.scale_type:
        problems.add(
            f"{field.rpartition('.')[0]}.scale_type", "Leave it unset for CATEGORICAL parameters."
        )

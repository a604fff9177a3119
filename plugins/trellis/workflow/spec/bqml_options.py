"""Options of BigQuery ML's CREATE MODEL that an experiment may set, by type of model.

Those that change how a model learns. What it learns from is ours to say: label, split, features.
Names and bounds are those of
https://cloud.google.com/bigquery/docs/reference/standard-sql/bigqueryml-syntax-create-glm and
https://cloud.google.com/bigquery/docs/reference/standard-sql/bigqueryml-syntax-create-boosted-tree;
words are JSON Schema's, as those of hyperparameters. What is not set has BigQuery's default.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from trellis.workflow.spec.problems import did_you_mean
from trellis.workflow.spec.sections import unexpected
from trellis_contracts.catalog import Hyperparameter
from trellis_contracts.hyperparameter_schema import expected

Words = Mapping[str, Any]

_TRUTH: Words = {"type": "boolean"}
_NOT_NEGATIVE: Words = {"type": "number", "minimum": 0}
_POSITIVE: Words = {"type": "number", "exclusiveMinimum": 0}
_SHARE: Words = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}


def _whole(least: int, most: int) -> Words:
    return {"type": "integer", "minimum": least, "maximum": most}


def _one_of(*names: str) -> Words:
    return {"type": "string", "enum": list(names)}


MOST_ITERATIONS = 1000
"""BigQuery has no bound; more trees or steps than that would take days."""

_ALL: Mapping[str, Words] = {
    "max_iterations": _whole(1, MOST_ITERATIONS),
    "early_stop": _TRUTH,
    "min_rel_progress": _NOT_NEGATIVE,
    "l1_reg": _NOT_NEGATIVE,
    "l2_reg": _NOT_NEGATIVE,
    "learn_rate": _POSITIVE,
}
_LINEAR: Mapping[str, Words] = {
    **_ALL,
    "learn_rate_strategy": _one_of("LINE_SEARCH", "CONSTANT"),
    "ls_init_learn_rate": _POSITIVE,
    "fit_intercept": _TRUTH,
}
_BOOSTED: Mapping[str, Words] = {
    **_ALL,
    "max_tree_depth": _whole(1, 100),
    "min_tree_child_weight": _whole(0, 1_000_000),
    "min_split_loss": _NOT_NEGATIVE,
    "subsample": _SHARE,
    "colsample_bytree": _SHARE,
    "colsample_bylevel": _SHARE,
    "colsample_bynode": _SHARE,
    "num_parallel_tree": _whole(1, 100),
    "tree_method": _one_of("AUTO", "EXACT", "APPROX", "HIST"),
}
_CLASSES: Mapping[str, Words] = {"auto_class_weights": _TRUTH}

OPTIONS: Mapping[str, Mapping[str, Words]] = {
    "logistic_reg": {**_LINEAR, **_CLASSES},
    "linear_reg": {
        **_LINEAR,
        "optimize_strategy": _one_of("AUTO_STRATEGY", "BATCH_GRADIENT_DESCENT", "NORMAL_EQUATION"),
    },
    "boosted_tree_classifier": {**_BOOSTED, **_CLASSES},
    "boosted_tree_regressor": _BOOSTED,
}


def problems(type_: str, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """List the options that BigQuery would refuse, each with its name. type_: one of OPTIONS."""
    known = OPTIONS[type_]
    for name, value in options.items():
        if name not in known:
            message = f"no option of {type_} that a file may set; {did_you_mean(name, known)}"
            yield name, message
        else:
            words = {**known[name], "expected": expected(known[name])}
            if wrong := Hyperparameter(name, words).problem_with(value):
                yield name, unexpected(value, wrong.removeprefix("expected "))
    constant = options.get("learn_rate_strategy") == "CONSTANT"
    if type_.endswith("_reg") and "learn_rate" in options and not constant:
        yield "learn_rate", "goes with `learn_rate_strategy: CONSTANT`"
    if constant and "ls_init_learn_rate" in options:
        yield "ls_init_learn_rate", "goes with `learn_rate_strategy: LINE_SEARCH`, the default"
    if options.get("optimize_strategy") == "NORMAL_EQUATION" and options.get("l1_reg"):
        yield "l1_reg", "does not go with `optimize_strategy: NORMAL_EQUATION`"


def schema() -> dict[str, Any]:
    """JSON Schema of the options by type, for editors."""
    types = {
        name: {
            "type": "object",
            "properties": {option: dict(words) for option, words in options.items()},
            "additionalProperties": False,
        }
        for name, options in OPTIONS.items()
    }
    return {"type": "object", "properties": types, "additionalProperties": False}


def sql(value: Any) -> str:
    """A checked option's value as GoogleSQL writes it."""
    if isinstance(value, bool):
        return str(value).upper()
    return f"'{value}'" if isinstance(value, str) else repr(value)

"""The options of CREATE MODEL, by model type: names, defaults and bounds are BigQuery's.

Every option either has its effect or is refused by name: a value that the libraries used here
lack is `notImplemented`, a name unknown to BigQuery is `invalidQuery`.

The effect of the regularisation options on the transformed features (standardised if the model
standardises them), for n training rows; the intercept is never penalised:

| model           | objective                                        | the library's equivalent   |
|-----------------|--------------------------------------------------|----------------------------|
| LOGISTIC_REG    | sum(weight * log loss) + l1 * |W| + l2 / 2 * W^2 | LogisticRegression(C=1/l2) |
| LINEAR_REG      | sum((label - value)^2) + l1 * |W| + l2 * W^2     | Ridge(alpha=l2)            |
| BOOSTED_TREE_*  | XGBoost's                                        | alpha=l1, lambda=l2        |
| DNN_*, SGD only | mean loss + l2 / (2 n) * W^2                     | alpha=l2                   |

Sources: the CREATE MODEL pages under
https://cloud.google.com/bigquery/docs/reference/standard-sql/bigqueryml-syntax-create
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from local_gcp.bigquery.errors import BigQueryError, invalid_query, not_emulated

from . import option_values as values

Options = dict[str, Any]
"""Values of all options of the model type, by lower-case name."""


@dataclass(frozen=True)
class Option:
    """An option: its parser, its default, and its name in REST's TrainingOptions.

    `emulated`: the emulated values; None for all that `read` accepts.
    """

    read: Callable[[Any], Any]
    default: Any = None
    rest: str | None = None
    emulated: tuple | None = None


def check(given: dict[str, Any]) -> Options:
    """The options of a CREATE MODEL, complete with defaults.

    Raises BigQueryError: invalidQuery for unknown names and wrong values, notImplemented for others
    that are not emulated.
    """
    given = {name.lower(): value for name, value in given.items()}
    if not given.get("model_type"):
        raise invalid_query("CREATE MODEL requires MODEL_TYPE option to be set")
    model_type = str(given.pop("model_type")).upper()
    known = _TYPES.get(model_type)
    if known is None:
        if model_type in _TYPES_NOT_EMULATED:
            raise not_emulated(f"models of type {model_type}")
        raise invalid_query(f"Invalid value for option MODEL_TYPE: {model_type}")
    for name in given:
        if name not in known:
            raise _unknown(name, model_type)
    options = {
        name: _read(name, given[name], option) if given.get(name) is not None else option.default
        for name, option in known.items()
    }
    options["model_type"] = model_type
    _check_together(options, set(given))
    return options


def rest(options: Options) -> dict[str, Any]:
    """REST TrainingOptions; int64 as strings."""
    found: dict[str, Any] = {}
    for name, option in _TYPES[options["model_type"]].items():
        value = options[name]
        if option.rest is None or value is None:
            continue
        if option.read in (values.positive_integer, values.not_negative_integer):
            value = str(value)
        elif option.read is values.integers:
            value = [str(number) for number in value]
        elif option.read is values.weights:
            value = dict(value)
        found[option.rest] = value
    if options["model_type"] in ("LOGISTIC_REG", "LINEAR_REG"):
        linear = options["model_type"] == "LINEAR_REG"
        found["lossType"] = "MEAN_SQUARED_LOSS" if linear else "MEAN_LOG_LOSS"
    return found


def _read(name: str, value: Any, option: Option) -> Any:
    try:
        value = option.read(value)
    except (TypeError, ValueError) as error:
        raise invalid_query(f"Invalid value for option {name.upper()}: {error}") from None
    if option.emulated is not None and value not in option.emulated:
        shown = value if isinstance(value, str) else f"{value:g}"
        raise not_emulated(f"the CREATE MODEL option {name.upper()} = {shown}")
    return value


def _unknown(name: str, model_type: str) -> BigQueryError:
    if name in _NOT_EMULATED:
        return not_emulated(f"the CREATE MODEL option {name.upper()}")
    if any(name in options for options in _TYPES.values()):
        return invalid_query(f"Option {name.upper()} is not supported for {model_type} models")
    return invalid_query(f"Unknown option: {name}")


def _check_together(options: Options, given: set[str]) -> None:
    def forbid(condition: bool, message: str) -> None:
        if condition:
            raise invalid_query(message)

    model_type = options["model_type"]
    method = options.get("data_split_method")
    forbid(
        method in ("CUSTOM", "SEQ") and not options["data_split_col"],
        f"DATA_SPLIT_COL must be specified when DATA_SPLIT_METHOD is {method}",
    )
    forbid(
        method not in ("CUSTOM", "SEQ") and options.get("data_split_col") is not None,
        "DATA_SPLIT_COL can only be specified when DATA_SPLIT_METHOD is CUSTOM or SEQ",
    )
    forbid(
        "data_split_eval_fraction" in given and method not in ("RANDOM", "SEQ"),
        "DATA_SPLIT_EVAL_FRACTION can only be specified when DATA_SPLIT_METHOD is RANDOM or SEQ",
    )
    forbid(
        bool(options.get("auto_class_weights")) and options.get("class_weights") is not None,
        "AUTO_CLASS_WEIGHTS and CLASS_WEIGHTS cannot both be specified",
    )
    forbid(
        options.get("instance_weight_col") is not None
        and bool(options.get("auto_class_weights") or options.get("class_weights")),
        "INSTANCE_WEIGHT_COL cannot be specified together with class weights",
    )
    if model_type in ("LINEAR_REG", "LOGISTIC_REG"):
        search = options["learn_rate_strategy"] == "LINE_SEARCH"
        forbid(
            search and "learn_rate" in given,
            "LEARN_RATE can only be specified when LEARN_RATE_STRATEGY is CONSTANT",
        )
        forbid(
            not search and "ls_init_learn_rate" in given,
            "LS_INIT_LEARN_RATE can only be specified when LEARN_RATE_STRATEGY is LINE_SEARCH",
        )
    if model_type == "LINEAR_REG":
        normal = options["optimize_strategy"] == "NORMAL_EQUATION"
        forbid(
            normal and options["l1_reg"] > 0,
            "L1_REG cannot be specified when OPTIMIZE_STRATEGY is NORMAL_EQUATION",
        )
    if model_type.startswith("BOOSTED_TREE"):
        for name in sorted({"dropout", "dart_normalize_type"} & given):
            if options["booster_type"] != "DART":
                raise not_emulated(f"the CREATE MODEL option {name.upper()} without DART")
        if options["tree_method"] == "EXACT" and options["colsample_bynode"] < 1:
            raise not_emulated("the CREATE MODEL option COLSAMPLE_BYNODE with TREE_METHOD EXACT")
    if model_type.startswith("DNN_"):
        forbid(
            options["l2_reg"] > 0 and options["optimizer"] == "ADAM",
            "L2_REG can only be specified when OPTIMIZER is ADAGRAD, FTRL or SGD",
        )


_LABEL = {"input_label_cols": Option(values.one_text, ["label"], "inputLabelColumns")}
_SPLIT = {
    "data_split_method": Option(
        values.one_of("AUTO_SPLIT", "RANDOM", "CUSTOM", "SEQ", "NO_SPLIT"),
        "AUTO_SPLIT",
        "dataSplitMethod",
    ),
    "data_split_eval_fraction": Option(values.inner_fraction, None, "dataSplitEvalFraction"),
    "data_split_col": Option(values.string, None, "dataSplitColumn"),
}
_ITERATIONS = {
    "max_iterations": Option(values.positive_integer, 20, "maxIterations"),
    "early_stop": Option(values.boolean, True, "earlyStop"),
    "min_rel_progress": Option(values.not_negative, 0.01, "minRelativeProgress"),
    "warm_start": Option(values.boolean, False, "warmStart", emulated=(False,)),
}
_EXPLAIN = {
    "enable_global_explain": Option(values.boolean, False, "enableGlobalExplain", emulated=(False,))
}
_CLASS_WEIGHTS = {
    "auto_class_weights": Option(values.boolean, False, "autoClassWeights"),
    "class_weights": Option(values.weights, None, "labelClassWeights"),
}
_GENERAL_LINEAR = {
    **_LABEL,
    **_SPLIT,
    **_ITERATIONS,
    **_EXPLAIN,
    "l1_reg": Option(values.not_negative, 0.0, "l1Regularization"),
    "l2_reg": Option(values.not_negative, 0.0, "l2Regularization"),
    "learn_rate_strategy": Option(
        values.one_of("LINE_SEARCH", "CONSTANT"), "LINE_SEARCH", "learnRateStrategy"
    ),
    "learn_rate": Option(values.positive, 0.1, "learnRate"),
    "ls_init_learn_rate": Option(values.positive, 0.1, "initialLearnRate"),
    "fit_intercept": Option(values.boolean, True, "fitIntercept"),
    "category_encoding_method": Option(
        values.one_of("ONE_HOT_ENCODING", "DUMMY_ENCODING"),
        "ONE_HOT_ENCODING",
        "categoryEncodingMethod",
    ),
    "calculate_p_values": Option(values.boolean, False, "calculatePValues", emulated=(False,)),
}
_OPTIMIZE = values.one_of("AUTO_STRATEGY", "BATCH_GRADIENT_DESCENT", "NORMAL_EQUATION")
_BOOSTED = {
    **_LABEL,
    **_SPLIT,
    **_ITERATIONS,
    **_EXPLAIN,
    "learn_rate": Option(values.positive, 0.3, "learnRate"),
    "l1_reg": Option(values.not_negative, 0.0, "l1Regularization"),
    "l2_reg": Option(values.not_negative, 1.0, "l2Regularization"),
    "max_tree_depth": Option(values.positive_integer, 6, "maxTreeDepth"),
    "min_tree_child_weight": Option(values.not_negative_integer, 1, "minTreeChildWeight"),
    "min_split_loss": Option(values.not_negative, 0.0, "minSplitLoss"),
    "subsample": Option(values.positive_fraction, 1.0, "subsample"),
    "colsample_bytree": Option(values.positive_fraction, 1.0, "colsampleBytree"),
    "colsample_bylevel": Option(values.positive_fraction, 1.0, "colsampleBylevel"),
    "colsample_bynode": Option(values.positive_fraction, 1.0, "colsampleBynode"),
    "num_parallel_tree": Option(values.positive_integer, 1, "numParallelTree"),
    "booster_type": Option(values.one_of("GBTREE", "DART"), "GBTREE", "boosterType"),
    "dart_normalize_type": Option(values.one_of("TREE", "FOREST"), "TREE", "dartNormalizeType"),
    "dropout": Option(values.fraction, 0.0, "dropout"),
    "tree_method": Option(values.one_of("AUTO", "EXACT", "APPROX", "HIST"), "AUTO", "treeMethod"),
    "category_encoding_method": Option(
        values.one_of("ONE_HOT_ENCODING", "TARGET_ENCODING", "LABEL_ENCODING"),
        "LABEL_ENCODING",
        "categoryEncodingMethod",
        emulated=("ONE_HOT_ENCODING", "LABEL_ENCODING"),
    ),
    "instance_weight_col": Option(values.string, None, "instanceWeightColumn"),
}
_DNN = {
    **_LABEL,
    **_SPLIT,
    **_ITERATIONS,
    **_EXPLAIN,
    "learn_rate": Option(values.positive, 0.001, "learnRate"),
    "optimizer": Option(
        values.one_of("ADAGRAD", "ADAM", "FTRL", "RMSPROP", "SGD"),
        "ADAM",
        "optimizer",
        emulated=("ADAM", "SGD"),
    ),
    "l1_reg": Option(values.not_negative, 0.0, "l1Regularization", emulated=(0,)),
    "l2_reg": Option(values.not_negative, 0.0, "l2Regularization"),
    "activation_fn": Option(
        values.one_of("RELU", "RELU6", "CRELU", "ELU", "SELU", "SIGMOID", "TANH"),
        "RELU",
        "activationFn",
        emulated=("RELU", "SIGMOID", "TANH"),
    ),
    "batch_size": Option(values.positive_integer, None, "batchSize"),
    "dropout": Option(values.fraction, 0.0, "dropout", emulated=(0,)),
    "hidden_units": Option(values.integers, None, "hiddenUnits"),
}
_TYPES: dict[str, dict[str, Option]] = {
    "LOGISTIC_REG": {**_GENERAL_LINEAR, **_CLASS_WEIGHTS},
    "LINEAR_REG": {
        **_GENERAL_LINEAR,
        "optimize_strategy": Option(_OPTIMIZE, "AUTO_STRATEGY", "optimizationStrategy"),
    },
    "BOOSTED_TREE_CLASSIFIER": {**_BOOSTED, **_CLASS_WEIGHTS},
    "BOOSTED_TREE_REGRESSOR": _BOOSTED,
    "DNN_CLASSIFIER": {**_DNN, **_CLASS_WEIGHTS},
    "DNN_REGRESSOR": _DNN,
}
_TYPES_NOT_EMULATED = {
    "ARIMA_PLUS", "ARIMA_PLUS_XREG", "AUTOENCODER", "AUTOML_CLASSIFIER", "AUTOML_REGRESSOR",
    "CONTRIBUTION_ANALYSIS", "DNN_LINEAR_COMBINED_CLASSIFIER", "DNN_LINEAR_COMBINED_REGRESSOR",
    "KMEANS", "MATRIX_FACTORIZATION", "ONNX", "PCA", "RANDOM_FOREST_CLASSIFIER",
    "RANDOM_FOREST_REGRESSOR", "TENSORFLOW", "TENSORFLOW_LITE", "TRANSFORM_ONLY", "XGBOOST",
}  # fmt: skip
_NOT_EMULATED = {
    "approx_global_feature_contrib", "data_split_test_fraction",
    "hparam_tuning_algorithm", "hparam_tuning_objectives", "integrated_gradients_num_steps",
    "max_parallel_trials", "model_registry", "num_trials", "tf_version",
    "vertex_ai_model_id", "vertex_ai_model_version_aliases", "xgboost_version",
}  # fmt: skip

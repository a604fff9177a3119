"""Options of CREATE MODEL: each has its effect or is refused by name."""

import pytest

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.ml import options


def refused(reason: str, **given) -> str:
    with pytest.raises(BigQueryError) as caught:
        options.check(given)
    assert caught.value.reason == reason, caught.value.message
    return caught.value.message


def test_names_and_choices_ignore_case_and_what_is_not_given_has_bigquerys_default():
    found = options.check({"MODEL_TYPE": "boosted_tree_classifier", "Tree_Method": "hist"})
    assert found["model_type"] == "BOOSTED_TREE_CLASSIFIER"
    assert found["tree_method"] == "HIST"
    assert (found["max_tree_depth"], found["learn_rate"], found["l2_reg"]) == (6, 0.3, 1.0)
    assert found["input_label_cols"] == ["label"]


def test_a_model_type_is_required_and_known():
    assert "MODEL_TYPE" in refused("invalidQuery")
    assert "SVM" in refused("invalidQuery", model_type="SVM")
    for model_type in ("arima_plus", "kmeans", "pca"):
        assert model_type.upper() in refused("notImplemented", model_type=model_type)


def test_an_unknown_option_is_a_wrong_query():
    assert refused("invalidQuery", model_type="LINEAR_REG", speed=3) == "Unknown option: speed"


def test_an_option_of_another_model_type_is_a_wrong_query():
    assert "SUBSAMPLE" in refused("invalidQuery", model_type="LINEAR_REG", subsample=0.5)


@pytest.mark.parametrize(
    ("model_type", "name", "value"),
    [
        ("LOGISTIC_REG", "num_trials", 10),
        ("LOGISTIC_REG", "warm_start", True),
        ("LOGISTIC_REG", "enable_global_explain", True),
        ("LINEAR_REG", "calculate_p_values", True),
        ("LINEAR_REG", "model_registry", "vertex_ai"),
        ("BOOSTED_TREE_CLASSIFIER", "dropout", 0.5),
        ("BOOSTED_TREE_CLASSIFIER", "xgboost_version", "0.9"),
        ("BOOSTED_TREE_REGRESSOR", "category_encoding_method", "TARGET_ENCODING"),
        ("DNN_CLASSIFIER", "dropout", 0.2),
        ("DNN_REGRESSOR", "activation_fn", "SELU"),
        ("DNN_REGRESSOR", "optimizer", "FTRL"),
    ],
)
def test_what_is_not_emulated_is_refused_by_name(model_type, name, value):
    assert name.upper() in refused("notImplemented", model_type=model_type, **{name: value})


@pytest.mark.parametrize(
    ("model_type", "given"),
    [
        ("LOGISTIC_REG", {"l2_reg": -1}),
        ("LOGISTIC_REG", {"max_iterations": 0}),
        ("LOGISTIC_REG", {"max_iterations": 2.5}),
        ("LOGISTIC_REG", {"early_stop": "yes"}),
        ("LOGISTIC_REG", {"data_split_method": "HALF"}),
        ("LOGISTIC_REG", {"data_split_method": "CUSTOM"}),
        ("LOGISTIC_REG", {"data_split_col": "held"}),
        ("LOGISTIC_REG", {"data_split_eval_fraction": 0.3}),
        ("LOGISTIC_REG", {"learn_rate": 0.1}),
        ("LOGISTIC_REG", {"learn_rate_strategy": "CONSTANT", "ls_init_learn_rate": 0.1}),
        ("LOGISTIC_REG", {"input_label_cols": ["a", "b"]}),
        ("LOGISTIC_REG", {"auto_class_weights": True, "class_weights": [("a", 1), ("b", 1)]}),
        ("LOGISTIC_REG", {"class_weights": [("a", 1), ("a", 1)]}),
        ("LINEAR_REG", {"optimize_strategy": "NORMAL_EQUATION", "l1_reg": 1}),
        ("DNN_CLASSIFIER", {"hidden_units": []}),
        ("DNN_CLASSIFIER", {"l2_reg": 0.1}),  # only with ADAGRAD, FTRL and SGD
    ],
)
def test_wrong_values_and_combinations_are_wrong_queries(model_type, given):
    refused("invalidQuery", model_type=model_type, **given)


def test_class_weights_come_as_structs_of_any_form():
    for pairs in ([{"label": "a", "weight": 2}], [("a", 2.0)], [["a", 2]]):
        found = options.check({"model_type": "DNN_CLASSIFIER", "class_weights": pairs})
        assert found["class_weights"] == {"a": 2.0}


def test_rest_names_the_options_as_google_does():
    found = options.check(
        {"model_type": "LOGISTIC_REG", "l2_reg": 0.5, "class_weights": [("a", 1), ("b", 3)]}
    )
    shown = options.rest(found)
    assert shown["maxIterations"] == "20"  # an int64
    assert shown["l2Regularization"] == 0.5
    assert shown["labelClassWeights"] == {"a": 1.0, "b": 3.0}
    assert shown["lossType"] == "MEAN_LOG_LOSS"
    assert shown["inputLabelColumns"] == ["label"]

import math
import re

import pytest
from airflow.sdk.exceptions import ParamValidationError

from tests.trellis.workflow.plans import conf_of
from tests.wording import says
from trellis.workflow.contracts.run_params import apply, of_backfill, run_params
from trellis.workflow.pricing import cost
from trellis.workflow.spec.problems import FileError
from trellis.workflow.validation.file import with_changes


def run_values(experiment):
    """The defaults without the hyperparameters."""
    form = run_params(experiment).items()
    return {n: p.resolve() for n, p in form if p.schema["section"] != "Hyperparameters"}


def test_the_files_values_are_the_defaults(digits):
    assert run_values(digits) == {
        "dry_run": False,
        "source": "digits/manifest.csv",
        "trials": 6,
        "parallel": 2,
        "tune_epochs": 4,
        "top": 2,
        "train_epochs": 25,
        "workers": 2,
        "seed": 0,
        "profile": None,
        "reuse": False,
        "budget": "3 USD",
        "deploy": True,
        "deploy_backfill": False,
    }
    assert apply(digits, conf_of(digits)) == digits


def test_a_run_changes_what_it_says(digits):
    changed = apply(digits, {**conf_of(digits), "trials": 9, "source": "gs://b/m.csv"})
    assert (changed.tune.trials, changed.source.images) == (9, "gs://b/m.csv")


def test_a_run_may_be_profiled(digits):
    assert apply(digits, {**conf_of(digits), "profile": "10-20"}).train.profile == (10, 20)
    with pytest.raises(FileError, match="profile"):
        apply(digits, {**conf_of(digits), "profile": "20-10"})


def test_a_run_may_accept_changes_of_the_data_that_the_file_refuses(digits):
    refusing = with_changes(digits, {("source", "changes", "beyond"): "refuse"})
    assert apply(refusing, conf_of(refusing)) == refusing
    accepted = apply(refusing, {**conf_of(refusing), "accept_changes": True})
    assert accepted == digits


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trials", 0),
        ("trials", 1001),
        ("trials", "many"),
        ("trials", 2.5),
        ("parallel", 0),
        ("top", 21),
        ("train_epochs", None),
        ("workers", -1),
        ("source", ""),
        ("budget", "6 EUR"),
        ("seed", -1),
        ("learning_rate", 0),
        ("learning_rate", "fast"),
        ("kernel", 4),
        ("flip", 1),
    ],
)
def test_form_and_rest_api_refuse_what_the_file_may_not_say(digits, name, value):
    with pytest.raises(ParamValidationError):
        run_params(digits)[name].resolve(value)


def test_classes_may_have_weights_in_the_file_and_in_a_run(digits):
    weights = {"class_weights": {0: 2, "1": 0.5}}
    weighted = with_changes(digits, {("hyperparameters",): weights})
    assert weighted.hyperparameters == {"class_weights": '{"0": 2, "1": 0.5}'}
    assert apply(weighted, conf_of(weighted)) == weighted
    assert conf_of(digits)["class_weights"] == "none"
    changed = apply(digits, {**conf_of(digits), "class_weights": '{"7": 3}'})
    assert changed.hyperparameters == {"class_weights": '{"7": 3}'}
    with pytest.raises(FileError, match="class_weights: got 'equal'; expected one"):
        apply(digits, {**conf_of(digits), "class_weights": "equal"})


def test_what_does_not_fit_together_is_refused(digits):
    with pytest.raises(FileError, match=r"train.top: the best 2 of 1 trials"):
        apply(digits, {**conf_of(digits), "trials": 1})


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("trails", "trails: unknown parameter; did you mean 'trials'? Known: accumulation, "),
        ("embedding", "a run cannot change anything else"),  # only for tables
        ("from", "a run cannot change anything else"),  # images have no partition
    ],
)
def test_a_key_of_conf_that_is_no_parameter_is_refused(digits, key, said):
    with pytest.raises(FileError) as refused:
        apply(digits, {**conf_of(digits), key: 0.1})
    assert says(str(refused.value), "digits: 1 problem", said)


def test_the_form_explains_itself(digits, breast_cancer):
    for param in [*run_params(digits).values(), *run_params(breast_cancer).values()]:
        assert param.schema["title"]
        assert param.schema["section"]
        assert param.description


def test_a_table_has_days_and_baselines_to_choose(breast_cancer):
    form = run_params(breast_cancer)
    assert says(form["from"].description, "'measured_on'", "UTC")
    assert says(form["bqml"].description, "logistic_reg, boosted_tree_classifier", "off")
    limit = cost.baseline(breast_cancer, "automl", 0, None)
    assert f"1 node hours, at most {limit:.2f} USD; off:" in form["automl"].description
    assert apply(breast_cancer, conf_of(breast_cancer)) == breast_cancer
    off = {"bqml": False, "automl": False, "deploy": False}
    without = apply(breast_cancer, {**conf_of(breast_cancer), **off})
    assert (without.baselines.bqml, without.baselines.automl) == ([], None)


def test_a_run_without_bigquery_ml_has_no_options_of_it(breast_cancer):
    options = {"boosted_tree_classifier": {"max_tree_depth": 3}}
    fitted = with_changes(breast_cancer, {("baselines", "options"): options})
    assert apply(fitted, conf_of(fitted)) == fitted
    without = apply(fitted, {**conf_of(fitted), "bqml": False})
    assert (without.baselines.bqml, without.baselines.options) == ([], {})


def test_a_run_may_do_without_deployment(digits):
    form = run_params(digits)["deploy"]
    assert re.search(r"gate; serving .* \d+\.\d\d USD", form.description)
    assert apply(digits, {**conf_of(digits), "deploy": False}).deploy is None


def test_a_run_of_a_backfill_deploys_only_if_told_to(digits):
    values = conf_of(digits)
    assert apply(digits, of_backfill(values)).deploy is None
    assert apply(digits, of_backfill({**values, "deploy_backfill": True})).deploy == digits.deploy
    off = {**values, "deploy": False, "deploy_backfill": True}
    assert apply(digits, of_backfill(off)).deploy is None


def test_a_backfill_of_an_experiment_that_deploys_nothing_has_no_such_parameter(digits):
    experiment = with_changes(digits, {("deploy",): None})
    assert "deploy_backfill" not in run_params(experiment)
    assert apply(experiment, of_backfill(conf_of(experiment))) == experiment


def test_a_run_without_baselines_deploys_nothing_that_was_to_beat_them(breast_cancer):
    """Or a switch in the form would open the gate."""
    with pytest.raises(FileError, match="switch `deploy` off too"):
        apply(breast_cancer, {**conf_of(breast_cancer), "bqml": False, "automl": False})


@pytest.mark.parametrize(
    ("name", "value"),
    [("from", "tomorrow"), ("to", 20240101), ("bqml", "no"), ("automl", None), ("source", "")],
)
def test_the_form_of_a_table_refuses_what_is_no_day_and_no_switch(breast_cancer, name, value):
    with pytest.raises(ParamValidationError):
        run_params(breast_cancer)[name].resolve(value)


def test_a_query_is_edited_in_lines(breast_cancer):
    changes = {("source", "bigquery"): None, ("source", "query"): "SELECT *\nFROM d.t"}
    source = run_params(with_changes(breast_cancer, changes))["source"]
    assert source.schema["format"] == "multiline"


def test_every_hyperparameter_of_the_model_is_a_parameter(digits, breast_cancer):
    form = run_params(digits)
    assert {"learning_rate", "filters", "kernel", "optimizer", "augment"} <= set(form)
    assert not {"units", "embedding", "cell_units"} & set(form)  # no effect on this model
    assert "embedding" in run_params(breast_cancer)
    rate = form["learning_rate"]
    assert rate.value is None
    assert says(rate.description, "0.0003 to 0.01", "hyperparameters.learning_rate")
    assert form["batch_size"].value == 32  # the trainer's default


def test_a_value_fixes_a_hyperparameter_for_this_run(digits):
    changed = apply(digits, {**conf_of(digits), "learning_rate": 0.002, "batch_size": 64})
    assert changed.hyperparameters == {"learning_rate": 0.002, "batch_size": 64}
    assert sorted(changed.tune.search) == ["dropout", "filters"]


def test_something_must_be_left_to_search(digits):
    fixed = {"learning_rate": 0.002, "filters": 16, "dropout": 0.1}
    with pytest.raises(FileError, match=r"tune: every .* has a value .*: leave one empty"):
        apply(digits, {**conf_of(digits), **fixed})


def test_days_in_the_wrong_order_are_refused(breast_cancer):
    days = {"from": "2024-01-03", "to": "2024-01-03"}
    with pytest.raises(FileError, match="from: 2024-01-03 is not before `to`, 2024-01-03"):
        apply(breast_cancer, {**conf_of(breast_cancer), **days})


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400])
def test_numbers_that_only_python_reads_in_json_are_refused(digits, value):
    with pytest.raises(FileError, match="clip_norm"):
        apply(digits, {**conf_of(digits), "clip_norm": value})

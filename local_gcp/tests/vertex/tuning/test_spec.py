"""Studies as clients send them: understood, or refused with the field's name."""

import pytest
from google.cloud import aiplatform_v1 as api
from google.cloud.aiplatform import hyperparameter_tuning as hpt

from local_gcp.vertex.tuning.space import Categorical, Discrete, Double, Integer, Scale
from local_gcp.vertex.tuning.spec import Algorithm, Problems, read_study
from local_gcp.vertex.tuning.stopping import MedianStopping, StudyStopping, TimeConstraint

RATE = {"parameter_id": "rate", "double_value_spec": {"min_value": 0.1, "max_value": 1}}


def job(**changes):
    """A tuning job; `changes` are job fields, or study fields with the prefix study_."""
    study = {
        "metrics": [{"metric_id": "accuracy", "goal": "MAXIMIZE"}],
        "parameters": [RATE],
    } | {k[6:]: v for k, v in changes.items() if k.startswith("study_")}
    fields = {k: v for k, v in changes.items() if not k.startswith("study_")}
    return api.HyperparameterTuningJob(
        **({"max_trial_count": 4, "parallel_trial_count": 2, "study_spec": study} | fields)
    )


def read(a_job):
    problems = Problems()
    return read_study("jobs/1", a_job, problems), problems


def test_the_parameter_specs_of_the_sdk():
    specs = {
        "lr": hpt.DoubleParameterSpec(min=0.001, max=0.1, scale="log"),
        "top": hpt.DoubleParameterSpec(min=0.5, max=0.9, scale="reverse_log"),
        "units": hpt.IntegerParameterSpec(min=4, max=128, scale="linear"),
        "activation": hpt.CategoricalParameterSpec(values=["relu", "selu"]),
        "batch_size": hpt.DiscreteParameterSpec(values=[128, 256], scale=None),
    }
    parameters = [spec._to_parameter_spec(parameter_id=name) for name, spec in specs.items()]

    study, problems = read(job(study_parameters=parameters, study_algorithm="RANDOM_SEARCH"))

    assert problems.found == []
    assert study.parameters == (
        Double("lr", 0.001, 0.1, Scale.LOG),
        Double("top", 0.5, 0.9, Scale.REVERSE_LOG),
        Integer("units", 4, 128, Scale.LINEAR),
        Categorical("activation", ("relu", "selu")),
        Discrete("batch_size", (128.0, 256.0)),
    )
    assert (study.metric, study.maximize) == ("accuracy", True)
    assert study.algorithm is Algorithm.RANDOM_SEARCH
    assert not study.best_measurement


def test_stopping_and_selection():
    study, problems = read(
        job(
            study_measurement_selection_type="BEST_MEASUREMENT",
            study_median_automated_stopping_spec={"use_elapsed_duration": True},
            study_study_stopping_config={
                "should_stop_asap": True,
                "minimum_runtime_constraint": {"max_duration": "60s"},
                "maximum_runtime_constraint": {"end_time": "2030-01-01T00:00:00Z"},
                "min_num_trials": 2,
                "max_duration_no_progress": "90s",
            },
        )
    )
    assert problems.found == []
    assert study.best_measurement
    assert study.trial_stopping == MedianStopping(use_elapsed_duration=True)
    assert study.study_stopping == StudyStopping(
        should_stop_asap=True,
        minimum_runtime=TimeConstraint(max_duration=60),
        maximum_runtime=TimeConstraint(end=1893456000),
        min_trials=2,
        max_duration_no_progress=90,
    )


def parameter(kind="double", scale="SCALE_TYPE_UNSPECIFIED", **values):
    return [{"parameter_id": "p", f"{kind}_value_spec": values, "scale_type": scale}]


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"max_trial_count": 0}, "max_trial_count", "at least 1"),
        ({"parallel_trial_count": 0}, "parallel_trial_count", "at least 1"),
        ({"parallel_trial_count": 5}, "parallel_trial_count", "5 is more than max_trial_count"),
        ({"max_failed_trial_count": 5}, "max_failed_trial_count", "between 0 and"),
        ({"study_metrics": []}, "study_spec.metrics", "Required"),
        (
            {"study_metrics": [{"metric_id": "a"}, {"metric_id": "b"}]},
            "study_spec.metrics",
            "local_gcp does not emulate this: more than one metric (a, b)",
        ),
        (
            {"study_metrics": [{"metric_id": "a", "safety_config": {"safety_threshold": 1}}]},
            "study_spec.metrics[0].safety_config",
            "does not emulate",
        ),
        (
            {"study_metrics": [{"metric_id": "my metric"}]},
            "study_spec.metrics[0].metric_id",
            "white space",
        ),
        ({"study_parameters": []}, "study_spec.parameters", "Required"),
        (
            {"study_parameters": [RATE, RATE]},
            "study_spec.parameters[1].parameter_id",
            "'rate' is there twice",
        ),
        (
            {"study_parameters": [{"parameter_id": "p"}]},
            "study_spec.parameters[0]",
            "needs one of double_value_spec",
        ),
        (
            {"study_parameters": parameter(min_value=2, max_value=1)},
            "study_spec.parameters[0].double_value_spec.min_value",
            "2.0 is greater than max_value (1.0)",
        ),
        (
            {"study_parameters": parameter(min_value=0, max_value=float("inf"))},
            "study_spec.parameters[0].double_value_spec",
            "finite",
        ),
        (
            {"study_parameters": parameter("integer", "UNIT_LOG_SCALE", min_value=0, max_value=9)},
            "study_spec.parameters[0].integer_value_spec.min_value",
            "not positive",
        ),
        (
            {"study_parameters": parameter("discrete", values=[])},
            "study_spec.parameters[0].discrete_value_spec.values",
            "at least one",
        ),
        (
            {"study_parameters": parameter("discrete", values=[1, 2, 2])},
            "study_spec.parameters[0].discrete_value_spec.values",
            "2.0 follows 2.0",
        ),
        (
            {"study_parameters": parameter("discrete", values=range(1001))},
            "study_spec.parameters[0].discrete_value_spec.values",
            "at most 1000",
        ),
        (
            {"study_parameters": parameter("discrete", "UNIT_LOG_SCALE", values=[0, 1])},
            "study_spec.parameters[0].discrete_value_spec.values",
            "not positive",
        ),
        (
            {"study_parameters": parameter("categorical", values=[])},
            "study_spec.parameters[0].categorical_value_spec.values",
            "at least one",
        ),
        (
            {"study_parameters": parameter("categorical", values=["a", "b", "a"])},
            "study_spec.parameters[0].categorical_value_spec.values",
            "'a' is there twice",
        ),
        (
            {"study_parameters": parameter("categorical", "UNIT_LOG_SCALE", values=["a"])},
            "study_spec.parameters[0].scale_type",
            "Leave it unset",
        ),
        (
            {"study_parameters": parameter(min_value=0, max_value=1, default_value=0.5)},
            "study_spec.parameters[0].double_value_spec.default_value",
            "Vizier only",
        ),
        (
            {
                "study_parameters": [
                    {**RATE, "conditional_parameter_specs": [{"parameter_spec": RATE}]}
                ]
            },
            "study_spec.parameters[0].conditional_parameter_specs",
            "local_gcp does not emulate this: conditional parameters (rate)",
        ),
        ({"study_algorithm": "GRID_SEARCH"}, "study_spec.algorithm", "'rate' is DOUBLE"),
        ({"study_observation_noise": "HIGH"}, "study_spec.observation_noise", "Vizier only"),
        (
            {"study_decay_curve_stopping_spec": {"use_elapsed_duration": True}},
            "study_spec.decay_curve_stopping_spec",
            "does not emulate this: use median",
        ),
        (
            {"study_convex_automated_stopping_spec": {"max_step_count": 3}},
            "study_spec.convex_automated_stopping_spec",
            "does not emulate this: use median",
        ),
        (
            {"study_study_stopping_config": {"max_num_trials": 0}},
            "study_spec.study_stopping_config.max_num_trials",
            "0 is not at least 1",
        ),
    ],
)
def test_what_is_refused(changes, field, words):
    _, problems = read(job(**changes))
    (problem,) = problems.found
    assert problem.field == field
    assert words in problem.message


@pytest.mark.filterwarnings("ignore:Unrecognized Algorithm")
def test_an_unknown_algorithm_is_refused():
    _, problems = read(job(study_algorithm=77))
    assert "no algorithm number 77" in problems.error().message


def test_one_answer_names_all_problems():
    _, problems = read(job(max_trial_count=0, study_metrics=[]))
    error = problems.error()
    assert [field for field, _ in error.violations] == ["max_trial_count", "study_spec.metrics"]

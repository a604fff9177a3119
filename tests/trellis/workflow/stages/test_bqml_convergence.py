"""BigQuery ML models that had not converged, by what BigQuery says of their training."""

import pytest

from tests.wording import says
from trellis.workflow.stages.bqml_convergence import warnings


def training_run(losses, most=None, kind="evalLoss", **options):
    """A TrainingRun as BigQuery has it: numbers of type int64 are strings."""
    results = [{"index": n, kind: loss, "learnRate": 0.4} for n, loss in enumerate(losses)]
    options = {"maxIterations": str(most or len(losses)), "earlyStop": True, **options}
    return {"trainingOptions": options, "results": results}


def test_a_training_that_the_number_of_iterations_ended_is_warned_of():
    (warning,) = warnings("logistic_reg", training_run([9.0, 4.0, 3.0]), {})
    assert says(warning, "3 iterations", "on the validation rows by 25%")
    assert "(baselines: {options: {logistic_reg: {max_iterations: 30}}})" in warning
    (warning,) = warnings("logistic_reg", training_run([9.0, 4.0], kind="trainingLoss"), {})
    assert "on the train rows" in warning


def test_the_most_iterations_that_a_file_may_ask_for_are_proposed():
    halves = [0.5**n for n in range(200)]
    (warning,) = warnings("boosted_tree_regressor", training_run(halves), {})
    assert "max_iterations: 1000" in warning


def test_a_linear_regression_has_an_exact_solution():
    """Whatever ended its steps."""
    for losses in ([9.0, 4.0], [9.0, 4.0, 4.0]):
        run = training_run(losses, 20)
        (warning,) = warnings("linear_reg", run, {"l2_reg": 1})
        assert says(warning, f"{len(losses)} steps of gradient descent")
        assert (
            "(baselines: {options: {linear_reg: {optimize_strategy: NORMAL_EQUATION}}})" in warning
        )
    assert warnings("linear_reg", training_run([9.0], 20), {}) == ()


def test_nobody_is_advised_to_do_what_they_have_chosen_not_to():
    for chosen in ({"optimize_strategy": "BATCH_GRADIENT_DESCENT"}, {"l1_reg": 0.1}):
        (warning,) = warnings("linear_reg", training_run([9.0, 4.0]), chosen)
        assert "{linear_reg: {max_iterations: 20}}" in warning


def test_the_order_of_the_iterations_is_that_of_their_index():
    run = training_run([9.0, 4.0, 3.0])
    assert warnings("logistic_reg", run | {"results": run["results"][::-1]}, {})


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(training_run([9.0, 4.0, 3.97]), id="below the progress that goes on"),
        pytest.param(training_run([9.0, 4.0, 4.5]), id="worse in the end"),
        pytest.param(training_run([9.0, 4.0, 3.0], 20), id="ended before"),
        pytest.param(training_run([9.0], 1), id="one iteration"),
        pytest.param(training_run([0.0, 0.0], 2), id="nothing to lower"),
        pytest.param(training_run([4.0, 3.0], minRelativeProgress=0.3), id="asked for more"),
        pytest.param({}, id="nothing known"),
        pytest.param(training_run([9.0, 4.0]) | {"trainingOptions": {}}, id="no number known"),
    ],
)
def test_others_are_not(run):
    assert warnings("boosted_tree_regressor", run, {}) == ()

"""The tuning section: every trial is there, whatever became of it."""

import re

import pytest
import vl_convert

from trainer.comparison.run_folder import Trial, Tuning
from trainer.report.hyperparameters import hyperparameter_section
from trainer.report.tuning import tuning_section
from trellis_contracts.charts import BAD, PALETTE


def trial(number, value, rank=None, state="SUCCEEDED", **parameters):
    history = [{"epoch": e, "val_accuracy": value - 0.1 / e} for e in (1, 2)] if value else []
    return Trial(
        str(number), state, parameters, value, 2 if value else None, *[None] * 2, history, rank
    )


@pytest.fixture
def tuning():
    return Tuning(
        job=None,
        metric="accuracy",
        goal="maximize",
        trials=[
            trial(1, 0.7, learning_rate=0.1, layers=1.0, augment="true"),
            trial(2, 0.9, rank=1, learning_rate=0.001, layers=2.0, augment="true"),
            trial(3, None, state="INFEASIBLE", learning_rate=0.5, layers=3.0, augment="true"),
            trial(4, 0.8, state="STOPPED", learning_rate=0.01, layers=2.0, augment="true"),
        ],
    )


def test_every_trial_has_a_row(tuning):
    section = tuning_section("dense", tuning)
    assert [(row.id, row.state, row.value, row.best) for row in section.rows] == [
        ("1", "succeeded", 0.7, False),
        ("2", "succeeded", 0.9, True),
        ("3", "failed", None, False),
        ("4", "stopped early", 0.8, False),
    ]
    assert section.states == [("succeeded", 2), ("failed", 1), ("stopped early", 1)]


def test_hyperparameters_that_never_changed_get_no_column(tuning):
    section = tuning_section("dense", tuning)
    assert section.varied == ["learning_rate", "layers"]
    assert section.fixed == [("augment", "true")]
    assert section.rows[1].parameters == ["0.001", "2"]


def test_a_trial_without_a_value_is_marked_on_the_floor(tuning):
    figure = tuning_section("dense", tuning).figures["search/dense"]
    rows = figure["data"]["values"]
    assert [row["value"] for row in rows] == [0.7, 0.9, None, 0.8]
    assert rows[1]["fill"] == PALETTE[0]
    svg = vl_convert.vegalite_to_svg(figure)
    assert svg.count(f'stroke="{BAD}"') == 1  # a cross
    assert len(re.findall(r'd="M[^"]*A[^"]*A', svg)) == 3  # circles, of two arcs each


def test_the_best_so_far_only_rises(tuning):
    rows = tuning_section("dense", tuning).figures["search/dense"]["data"]["values"]
    assert [row["best"] for row in rows] == [0.7, 0.9, 0.9, 0.9]


def test_to_minimize_is_to_sink():
    tuning = Tuning(None, "loss", "minimize", [trial(1, 0.5), trial(2, 0.9), trial(3, 0.2)])
    assert [row.best for row in tuning_section("dense", tuning).rows] == [False, False, True]


def test_parallel_coordinates_show_measured_trials_and_draw_the_chosen_last(tuning):
    section = hyperparameter_section("dense", tuning, {"learning_rate": {"scale": "log"}})
    rows = section.parallel["hyperparameters/dense"]["data"]["values"]
    names = [row["name"] for row in rows if row["trial"] == "1"]
    assert names == ["learning_rate", "layers", "accuracy"]
    assert list(dict.fromkeys(row["trial"] for row in rows)) == ["1", "4", "2"]
    assert all(0 <= row["at"] <= 1 for row in rows)
    (dots,) = section.slices["hyperparameters/dense/learning_rate"]["layer"]
    assert dots["encoding"]["x"]["title"] == "learning_rate (log scale)"


def test_a_hyperparameter_may_have_the_name_of_the_metric():
    trials = [trial(i, value, accuracy=i / 8) for i, value in ((1, 0.5), (2, 0.75))]
    section = hyperparameter_section("dense", Tuning(None, "accuracy", "maximize", trials), {})
    rows = section.parallel["hyperparameters/dense"]["data"]["values"]
    assert [(row["axis"], row["value"]) for row in rows if row["trial"] == "2"] == [
        ("0", 0.25),
        ("1", 0.75),
    ]


def test_one_measured_trial_is_nothing_to_compare(tuning):
    alone = Tuning(None, "accuracy", "maximize", tuning.trials[1:3])
    assert hyperparameter_section("dense", alone, {}) is None
    assert tuning_section("dense", alone).rows[0].best


def test_a_job_in_which_every_trial_failed_still_has_its_table():
    failed = [trial(i, None, state="INFEASIBLE", layers=float(i)) for i in (1, 2)]
    section = tuning_section("dense", Tuning(None, "accuracy", "maximize", failed))
    assert section.figures == {}
    assert len(section.rows) == 2

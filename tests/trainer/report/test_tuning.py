"""The tuning section: every trial is there, whatever became of it."""

import re

import pytest

from trainer.comparison.run_folder import Trial, Tuning
from trainer.report.hyperparameters import hyperparameter_section
from trainer.report.tuning import tuning_section


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
    section = tuning_section(tuning)
    assert [(row.id, row.state, row.value, row.best) for row in section.rows] == [
        ("1", "succeeded", 0.7, False),
        ("2", "succeeded", 0.9, True),
        ("3", "failed", None, False),
        ("4", "stopped early", 0.8, False),
    ]
    assert section.states == [("succeeded", 2), ("failed", 1), ("stopped early", 1)]


def test_hyperparameters_that_never_changed_get_no_column(tuning):
    section = tuning_section(tuning)
    assert section.varied == ["learning_rate", "layers"]
    assert section.fixed == [("augment", "true")]
    assert section.rows[1].parameters == ["0.001", "2"]


def test_a_trial_without_a_value_is_marked_on_the_floor(tuning):
    marks = tuning_section(tuning).history.marks
    assert [mark.style for mark in marks] == ["plain", "chosen s1", "bad", "stopped"]
    assert marks[2].y == max(mark.y for mark in marks)


def test_the_best_so_far_only_rises(tuning):
    line = tuning_section(tuning).history.line
    heights = [float(y) for y in re.findall(r"(?:V| )([\d.]+)", line)]
    assert len(heights) == 2  # trials 1 and 2; 4 is no better
    assert heights == sorted(heights, reverse=True)  # pixels grow downwards


def test_to_minimize_is_to_sink():
    tuning = Tuning(None, "loss", "minimize", [trial(1, 0.5), trial(2, 0.9), trial(3, 0.2)])
    assert [row.best for row in tuning_section(tuning).rows] == [False, False, True]


def test_parallel_coordinates_show_measured_trials_and_draw_the_chosen_last(tuning):
    section = hyperparameter_section(tuning, {"learning_rate": {"scale": "log"}})
    assert [axis.name for axis in section.parallel.axes] == ["learning_rate", "layers", "accuracy"]
    assert [line.title.split(":")[0] for line in section.parallel.lines] == [
        "trial 1",
        "trial 4",
        "trial 2",
    ]
    assert section.slices[0].x_title == "learning_rate (log scale)"


def test_one_measured_trial_is_nothing_to_compare(tuning):
    alone = Tuning(None, "accuracy", "maximize", tuning.trials[1:3])
    assert hyperparameter_section(alone, {}) is None
    assert tuning_section(alone).rows[0].best


def test_a_job_in_which_every_trial_failed_still_has_its_table():
    failed = [trial(i, None, state="INFEASIBLE", layers=float(i)) for i in (1, 2)]
    section = tuning_section(Tuning(None, "accuracy", "maximize", failed))
    assert (section.curves, section.history) == (None, None)
    assert len(section.rows) == 2

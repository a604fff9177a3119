"""The report's table of what limited the trainings."""

import numpy as np
import pytest

from tests.trainer.report.test_page import Page, report

ROW = {"epoch": 2, "seconds": 10, "examples": 1250, "cpu": 0.5, "memory": 2_000_000_000}


@pytest.fixture
def page(run_folder, classifier):
    """A function: rows of metrics.json's `speed` of each training -> the report."""

    def page(*speeds):
        labels = np.random.default_rng(0).integers(0, 3, 180)
        run = run_folder(labels, ["a", "b", "c"])
        for rank, rows in enumerate(speeds, start=1):
            answers = classifier(labels, 3, skill=4, seed=rank)
            run.contender(rank, answers, **({"speed": rows} if rows else {}))
        return Page(report(run))

    return page


def test_each_training_has_its_shares_and_what_to_try_next(page):
    parts = {"input": 6, "communication": 0, "evaluation": 1, "checkpoints": 0.5}
    devices = [{"use": 0.25, "memory": 3_000_000_000}]
    waiting = {**ROW, **parts, "read": 40_000_000}
    computing = {**ROW, **parts, "input": 0, "devices": devices}
    made = page([waiting], [computing])
    limits = made.table("Examples/s")
    both = {"Examples/s": "1,250", "Communication": "0.0%", "Evaluation": "10.0%"}
    both |= {"Checkpoints": "5.0%", "CPU": "50%", "Memory": "2.0 GB"}
    assert limits["training/1"] == both | {
        "Training": "training/1", "Computing": "25.0%", "Input": "60.0%",
        "Read": "40.0 MB", "GPU": "not measured",
    }  # fmt: skip
    assert limits["training/2"] == both | {
        "Training": "training/2", "Computing": "85.0%", "Input": "0.0%",
        "Read": "not measured", "GPU": "25%, 3.0 GB",
    }  # fmt: skip
    assert "shards" in made.text


def test_what_was_not_measured_is_said(page):
    row = page([{**ROW, "evaluation": 1, "checkpoints": 0}]).table("Examples/s")["training/1"]
    unknown = {column for column, text in row.items() if text == "not measured"}
    assert {"Computing", "Input", "Communication"} <= unknown
    assert (row["Evaluation"], row["Checkpoints"]) == ("10.0%", "0.0%")


def test_without_measured_epochs_there_is_no_table(page):
    assert "What limited" not in page(None).text

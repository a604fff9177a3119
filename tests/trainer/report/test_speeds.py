"""The report's table of what limited the trainings."""

import numpy as np
import pytest

from tests.trainer.report.test_page import Page, report

ROW = {"epoch": 2, "seconds": 10, "examples": 1250, "cpu": 0.5, "memory": 2_000_000_000}


@pytest.fixture
def page(run_folder, classifier):
    """A function: rows of metrics.json's `speed` of each training -> the text of the report."""

    def page(*speeds):
        labels = np.random.default_rng(0).integers(0, 3, 180)
        run = run_folder(labels, ["a", "b", "c"])
        for rank, rows in enumerate(speeds, start=1):
            answers = classifier(labels, 3, skill=4, seed=rank)
            run.contender(rank, answers, **({"speed": rows} if rows else {}))
        html = report(run)
        (run.path / "report.html").write_text(html)
        return Page(html).text

    return page


def test_each_training_has_its_shares_and_what_to_try_next(page):
    parts = {"input": 6, "communication": 0, "evaluation": 1, "checkpoints": 0.5}
    devices = [{"use": 0.25, "memory": 3_000_000_000}]
    waiting = {**ROW, **parts, "read": 40_000_000}
    computing = {**ROW, **parts, "input": 0, "devices": devices}
    text = page([waiting], [computing])
    assert "training/1 1,250 25.0% 60.0% 0.0% 10.0% 5.0% 50% 2.0 GB 40.0 MB not measured" in text
    assert "training/2 1,250 85.0% 0.0% 0.0% 10.0% 5.0% 50% 2.0 GB not measured 25%, 3.0 GB" in text
    assert "shards" in text


def test_what_was_not_measured_is_said(page):
    text = page([{**ROW, "evaluation": 1, "checkpoints": 0}])
    assert "training/1 1,250 not measured not measured not measured 10.0% 0.0%" in text


def test_without_measured_epochs_there_is_no_table(page):
    assert "What limited" not in page(None)

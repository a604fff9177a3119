"""progress.json, which the pages read while a training goes on."""

import math
from types import SimpleNamespace

import pytest

from trainer.training import progress
from trellis_contracts.progress import Point, Progress


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "progress.json"
    settings = SimpleNamespace(metric="auc", epochs=9, places=SimpleNamespace(progress=path))
    return progress.ProgressFile(settings), path


def rows(*values):
    return [{"epoch": n, "val_auc": value, "seconds": 2.5} for n, value in enumerate(values, 1)]


def test_it_has_the_metric_of_each_epoch(file):
    shown, path = file
    shown.show(rows(0.5, math.nan, 0.75))
    found = Progress.parse(path.read_text(), str(path))
    assert found.points == (Point(1, 0.5), Point(3, 0.75))
    assert (found.metric, found.epochs, found.seconds) == ("auc", 9, 2.5)


def test_it_is_not_written_again_at_once(file, monkeypatch):
    shown, path = file
    shown.show(rows(0.5))
    before = path.read_text()
    shown.show(rows(0.5, 0.6))
    assert path.read_text() == before
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    shown.show(rows(0.5, 0.6))
    assert len(Progress.parse(path.read_text(), "file").points) == 2


def test_before_the_first_epoch_there_is_none(file):
    shown, path = file
    shown.show([])
    assert not path.exists()


def test_a_fit_may_report_no_metric(file):
    shown, path = file
    shown.show([{"epoch": 12, "loss": 0.1}])
    found = Progress.parse(path.read_text(), "file")
    assert (found.points, found.epochs) == ((), 12)

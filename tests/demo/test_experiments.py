"""Experiments that the demo runs."""

import io
import re

import pytest
from rich.console import Console

from demo import experiments

TITLES = ("average precision of malignant", "AUC", "sensitivity (recall of malignant)", "log loss")


def test_ones_own_experiments_can_be_run_beside_the_demos(tmp_path, monkeypatch):
    for name in ("digits", "mice", "moths"):
        (tmp_path / f"{name}.yaml").touch()
    monkeypatch.setattr(experiments, "EXPERIMENTS", tmp_path)
    assert experiments.known() == [*experiments.DATA, "mice", "moths"]
    # Their data are where their author has put them: nothing is started to load any.
    experiments.load_data("mice", {})


def test_data_that_an_image_brings_are_there_once_it_is_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "IMAGES", tmp_path)
    assert [name for name in experiments.DATA if not experiments.has_data(name)] == ["survival"]
    (tmp_path / "survival").mkdir()
    (tmp_path / "survival/.ready").touch()
    assert experiments.has_data("survival")


@pytest.mark.parametrize("width", [40, 77, 80, 83, 100, 120, 400])
@pytest.mark.parametrize("name", ["training/1", "baselines/bqml-boosted_tree_classifier"])
@pytest.mark.parametrize("unit", [1, -10_000])
def test_no_figure_of_the_leaderboard_is_cut_on_a_narrow_screen(width, name, unit):
    """Nor one of a number's error, in the label's unit."""
    metrics = {f"m{n}": {"title": title, "chance": 0.5} for n, title in enumerate(TITLES * 3)}
    values = {m: {"value": unit * (0.1234 + n / 100)} for n, m in enumerate(metrics)}
    contenders = [{"name": name, "status": "ok", "selected": True, "metrics": values}]
    board = {"metrics": metrics, "contenders": contenders, "winner": name}
    screen = Console(file=io.StringIO(), width=max(width, len(name) + 20))
    for part in experiments._leaderboard(board, screen.width):
        screen.print(part)
    text = screen.file.getvalue()
    assert "…" not in text
    figures = re.findall(r"-?\d+\.\d{4}", text)
    assert set(figures) == {f"{one['value']:.4f}" for one in values.values()} | {"0.5000"}
    assert (text.count("chance") == 1) == (width == 400)


def test_a_training_that_the_validation_split_did_not_select_is_marked():
    """It is listed last, though it may have the higher score on the test split."""
    scores = (("training/2", True, 0.76), ("training/1", False, 0.77))
    contenders = [
        {"name": name, "status": "ok", "selected": chosen, "metrics": {"auc": {"value": score}}}
        for name, chosen, score in scores
    ]
    metrics = {"auc": {"title": "AUC", "chance": 0.5}}
    board = {"metrics": metrics, "contenders": contenders, "winner": "training/2"}
    screen = Console(file=io.StringIO(), width=80)
    for part in experiments._leaderboard(board, 80):
        screen.print(part)
    rows = [line.split() for line in screen.file.getvalue().splitlines()]
    assert ["*", "training/2", "0.7600"] in rows
    assert ["-", "training/1", "0.7700"] in rows

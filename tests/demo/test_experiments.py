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


@pytest.mark.parametrize("width", [40, 77, 80, 83, 100, 120, 400])
@pytest.mark.parametrize("name", ["training/1", "baselines/bqml-boosted_tree_classifier"])
@pytest.mark.parametrize("unit", [1, -10_000])
def test_no_figure_of_the_leaderboard_is_cut_on_a_narrow_screen(width, name, unit):
    """Nor one of a number's error, in the label's unit."""
    metrics = {f"m{n}": {"title": title, "chance": 0.5} for n, title in enumerate(TITLES * 3)}
    values = {m: {"value": unit * (0.1234 + n / 100)} for n, m in enumerate(metrics)}
    contenders = [{"name": name, "status": "ok", "metrics": values}]
    board = {"metrics": metrics, "contenders": contenders, "winner": name}
    screen = Console(file=io.StringIO(), width=max(width, len(name) + 20))
    for part in experiments._leaderboard(board, screen.width):
        screen.print(part)
    text = screen.file.getvalue()
    assert "…" not in text
    figures = re.findall(r"-?\d+\.\d{4}", text)
    assert set(figures) == {f"{one['value']:.4f}" for one in values.values()} | {"0.5000"}
    assert (text.count("chance") == 1) == (width == 400)

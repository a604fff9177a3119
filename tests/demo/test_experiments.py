"""Experiments that the demo runs."""

from demo import experiments


def test_ones_own_experiments_can_be_run_beside_the_demos(tmp_path, monkeypatch):
    for name in ("digits", "mice", "cells"):
        (tmp_path / f"{name}.yaml").touch()
    monkeypatch.setattr(experiments, "EXPERIMENTS", tmp_path)
    assert experiments.known() == [*experiments.DATA, "cells", "mice"]
    # Their data are where their author has put them: nothing is started to load any.
    experiments.load_data("mice", {})

"""A regression's section: the largest errors, the same axes for all, bounded in size."""

import json

import numpy as np
import pytest
import vl_convert

from trainer.comparison.held_out_split import HeldOutSplit
from trainer.metrics.regression import ValueOutcome
from trainer.report.contenders import ContenderStyle
from trainer.report.residuals import residual_section


def section(labels, **values):
    keys = np.array([f"k{i:06d}" for i in range(len(labels))], dtype=object)
    split = HeldOutSplit(keys, labels, (), records=(), family="regression")
    outcomes = {name: ValueOutcome(labels, np.asarray(found)) for name, found in values.items()}
    styles = [ContenderStyle(name, f"s{i + 1}", i == 0) for i, name in enumerate(values)]
    return residual_section(outcomes, styles, split, features=())


def test_the_largest_errors_stand_first():
    found = section(np.arange(5.0), a=[0, 1.5, 2, 0, 4])
    assert [(miss.key, miss.residual) for miss in found.worst[:2]] == [
        ("k000003", -3),
        ("k000001", 0.5),
    ]


def test_all_contenders_share_their_axes():
    found = section(np.arange(5.0), a=np.arange(5), b=np.arange(5) * 10)
    assert [other.name for other in found.others] == ["b"]
    for name in "ab":
        encoding = found.figures[f"predictions/{name}"]["layer"][1]["encoding"]
        assert [encoding[c]["scale"]["domain"] for c in "xy"] == [[0, 40], [0, 40]]


def test_of_many_examples_a_sample_is_drawn():
    labels = np.random.default_rng(1).normal(size=5000)
    found = section(labels, a=labels + 1, b=labels)
    assert found.sampled == (1000, 300)
    for name, count in zip("ab", found.sampled, strict=True):
        rows = found.figures[f"predictions/{name}"]["data"]["values"]
        assert len(rows) == count
        # Each prediction stays beside its own truth.
        assert {round(row["predicted"] - row["true"], 9) for row in rows} == {float(name == "a")}


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [0.0, 0.0, 1e12]])
def test_drawings_are_finite_whatever_the_values(values):
    found = section(np.array([1.0, 2.0, 3.0]), a=values)
    for figure in found.figures.values():
        svg = vl_convert.vegalite_to_svg(json.loads(json.dumps(figure, allow_nan=False)))
        assert "NaN" not in svg
        assert "Infinity" not in svg

"""Figures of estimates with intervals: what stands beside them is not cut off."""

import re

import vl_convert

from trainer.report.forests import _forest
from trellis_contracts.charts import VERSION

REMARK = "[0.9350, 1.0000]"
# Of DejaVu Sans at 12 px: of a digit, and of all else in the remark, which is narrower.
DIGIT, OTHER = 7.64, 4.7


def test_a_remark_has_room_in_a_wider_font_than_the_one_that_measured_it():
    row = {"contender": "training/1", "name": "training/1", "text": "0.9980", "remark": REMARK}
    figure = _forest([{**row, "value": 0.998, "low": 0.935, "high": 1, "winner": True}], "x", 1)
    svg = vl_convert.vegalite_to_svg(figure, vl_version=VERSION)
    drawn = float(re.search(r'<svg[^>]* width="([\d.]+)"', svg)[1])
    origin = float(re.search(r"translate\(([\d.]+)", svg)[1])
    (place,) = re.findall(r"translate\(([\d.]+),[\d.]+\)[^>]*>" + re.escape(REMARK), svg)
    digits = sum(map(str.isdigit, REMARK))
    assert origin + float(place) + DIGIT * digits + OTHER * (len(REMARK) - digits) <= drawn

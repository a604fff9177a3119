"""A figure of a run: found by its name, with its data, and drawn into a file of each format."""

import json
import math
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET

import pandas as pd
import pytest

import trellis
from tests.airflow_side import ROOT
from tests.trellis.results.made import CURVE, a_board, a_contender, a_plan_of, roc
from trellis.results.figure import Figure
from trellis.results.selection import NoRunError
from trellis_contracts.documents import ContractError


@pytest.fixture
def run(digits, client, bucket):
    """A run of which only what a figure needs is there: loaded."""
    folder = client.bucket(bucket)
    board = a_board(a_contender("training/1", 0.9, 0.8, 0.95, rank=1))
    for name, content in (
        ("plan", a_plan_of(digits, "r", bucket)),
        ("leaderboard/leaderboard", board),
        ("leaderboard/figures", {"schema": 1, "figures": {"roc": roc(), "ranking": roc()}}),
    ):
        text = json.dumps(content)
        folder.blob(f"digits/runs/r/{name}.json").upload_from_string(text)
    return trellis.load_run(f"gs://{bucket}/digits/runs/r/", client)


def test_a_figure_has_its_data_and_words(run):
    assert run.figures == ["roc", "ranking"]
    figure = run.figure("roc")
    pd.testing.assert_frame_equal(figure.data, pd.DataFrame(CURVE))
    assert "ROC of a & b" in repr(figure)


def test_a_name_that_no_figure_has_lists_the_names(run):
    with pytest.raises(KeyError, match=r"no figure 'rock'; it has roc, ranking"):
        run.figure("rock")


def test_a_run_without_figures_says_so(run, client, bucket):
    client.bucket(bucket).blob("digits/runs/r/leaderboard/figures.json").delete()
    with pytest.raises(NoRunError, match=r"there is no gs://.*/leaderboard/figures\.json"):
        run.figure("roc")


def test_a_specification_that_would_read_an_address_is_refused(run, client, bucket):
    reading = roc() | {"data": {"url": "http://127.0.0.1:9/secret.csv"}}
    text = json.dumps({"schema": 1, "figures": {"roc": reading}})
    client.bucket(bucket).blob("digits/runs/r/leaderboard/figures.json").upload_from_string(text)
    with pytest.raises(ContractError, match=r"figures\.json"):
        run.figure("roc")


def test_svg_has_the_texts_and_a_line_for_each_curve(tmp_path):
    path = Figure("roc", roc()).save(tmp_path / "roc.svg")
    drawing = ET.parse(path).getroot()
    texts = {element.text for element in drawing.iter() if element.tag.endswith("}text")}
    assert {"false positive rate", "true positive rate", "a", "b"} <= texts
    # A guide and two curves start at the left edge of the plot; the legend's samples do not.
    lines = [e for e in drawing.iter() if re.match(r"M0,.*L", e.get("d", ""))]
    assert len(lines) == 3


def test_png_has_300_pixels_for_each_inch(tmp_path):
    svg = ET.fromstring(Figure("roc", roc()).svg())
    data = Figure("roc", roc()).save(tmp_path / "roc.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    for side, drawn in ((width, svg.get("width")), (height, svg.get("height"))):
        assert math.isclose(side, float(drawn) * 300 / 72, abs_tol=2)


def test_pdf_has_one_page_of_vectors(tmp_path):
    data = Figure("roc", roc()).save(tmp_path / "roc.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    assert data.rstrip().endswith(b"%%EOF")
    assert re.search(rb"/Count 1\b", data)
    assert b"/Subtype /Image" not in data.replace(b"/Subtype/Image", b"/Subtype /Image")


def test_what_is_changed_is_drawn_and_drawing_changes_nothing():
    figure = Figure("roc", roc())
    figure.specification["title"] = "Of the paper"
    before = json.dumps(figure.specification)
    assert "Of the paper" in figure.svg()
    assert json.dumps(figure.specification) == before


def test_another_ending_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"none of \.pdf, \.svg, \.png"):
        Figure("roc", roc()).save(tmp_path / "roc.jpeg")
    assert list(tmp_path.iterdir()) == []


def test_dag_files_and_runs_are_read_without_the_program_that_draws():
    program = (
        "import sys, trellis.results.run, trellis.web.app, trellis.workflow\n"
        "print('vl_convert' in sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "plugins", capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert found.stdout.split()[-1] == "False"

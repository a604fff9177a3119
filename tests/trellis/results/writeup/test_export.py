import re
import xml.etree.ElementTree as ET

import pandas as pd
import pytest

import trellis
from tests.contracts.datasets import dataset, numeric
from tests.trellis.results.made import SLICES, a_board
from trellis.results.selection import NoRunError
from trellis.results.writeup import export


@pytest.fixture
def loaded(run, client):
    return trellis.load_run(run, client)


def test_figures_tables_and_texts_become_files(loaded, gather, tmp_path):
    folder = tmp_path / "paper"
    lines = export.export(loaded, gather(), folder)
    figures = folder / "figures"
    assert {path.name for path in figures.iterdir()} == {"roc.svg", "roc.pdf", "roc.png"}
    assert ET.parse(figures / "roc.svg").getroot().tag.endswith("svg")
    assert (figures / "roc.pdf").read_bytes().startswith(b"%PDF")
    assert (figures / "roc.png").read_bytes().startswith(b"\x89PNG")
    board = pd.read_csv(folder / "tables/leaderboard.csv", index_col="name")
    expected = loaded.leaderboard()
    assert board["accuracy"].tolist() == expected["accuracy"].tolist()
    assert board["accuracy.low"].tolist() == expected["accuracy.low"].tolist()
    splits = pd.read_csv(folder / "tables/splits.csv", index_col="split")
    assert splits.loc["train", "examples"] == gather().dataset.examples("train")
    assert {p.name for p in folder.iterdir() if p.is_file()} == {
        *("methods.md", "model-card.md", "tripod-ai.md", "trellis.bib")
    }
    assert lines[0].startswith(f"{figures}/: 1 figures")

    with pytest.raises(NoRunError, match="has files already"):
        export.export(loaded, gather(), folder)


def test_what_a_run_may_lack_becomes_tables_where_it_is_there(loaded, gather, tmp_path, put):
    put("digits/runs/r/leaderboard/leaderboard.json", a_board() | {"slices": SLICES})
    again = trellis.load_run(loaded.uri, loaded._client)
    export.export(again, gather(), tmp_path / "paper")
    made = {path.stem for path in (tmp_path / "paper/tables").glob("*.csv")}
    assert "slices" in made
    assert not made & {*export.OPTIONAL} - {"slices"}


def test_a_table_of_latex_has_its_special_characters_escaped(loaded, gather, tmp_path, put):
    made = dataset(numeric("age", [1, 2]), classes={"50% & more_#1": 3, "less": 4})
    put("digits/datasets/3f2a/dataset.json", made)
    export.export(loaded, gather(), tmp_path / "paper")
    text = (tmp_path / "paper/tables/splits.tex").read_text()
    assert r"50\% \& more\_\#1" in text
    assert r"\begin{tabular}" in text
    assert r"\toprule" in text


def test_the_leaderboard_of_a_paper_has_scores_with_intervals_by_contender(
    loaded, gather, tmp_path
):
    export.export(loaded, gather(), tmp_path / "paper")
    text = (tmp_path / "paper/tables/leaderboard.tex").read_text()
    header, *rows = (
        [cell.strip() for cell in line.removesuffix(r"\\").split(" & ")]
        for line in text.splitlines()
        if " & " in line
    )
    board = loaded.leaderboard()
    assert header[1:] == [name.replace("_", r"\_") for name in board.index]
    assert [row[0] for row in rows[1:]] == [*loaded.metrics()["title"]]
    (metric, about), row = next(iter(loaded.metrics().iterrows())), board.iloc[0]
    value, low, high = (f"{row[metric + of]:.4f}" for of in ("", ".low", ".high"))
    assert rows[1][:2] == [about["title"], f"{value} [{low}, {high}]"]


def test_two_figures_never_share_a_file():
    names = ["loss/a", "loss-a", "Loss/A", "calibration/training/1", "ü", "é"]
    files = export.file_names(names)
    assert files["calibration/training/1"] == "calibration-training-1"
    assert len({file.casefold() for file in files.values()}) == len(names)
    assert all(re.fullmatch(r"[\w.-]+", file, re.ASCII) for file in files.values())


def test_a_run_without_figures_still_has_its_tables(loaded, gather, tmp_path, client, bucket):
    client.bucket(bucket).blob("digits/runs/r/leaderboard/figures.json").delete()
    lines = export.export(loaded, gather(), tmp_path / "paper")
    assert any(line.startswith("No figures: there is no gs://") for line in lines)
    assert (tmp_path / "paper/tables/leaderboard.tex").exists()

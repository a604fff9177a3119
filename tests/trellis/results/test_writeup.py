"""`trellis methods` and `trellis export`: what a run has done, for a paper."""

import io
import json
import re
import xml.etree.ElementTree as ET

import pandas as pd
import pytest

import trellis
from tests.contracts.datasets import categorical, dataset, numeric
from tests.trellis.results.made import SLICES, a_board, a_plan_of, a_run, an_approval
from trellis.__main__ import main
from trellis.results.files import load_files
from trellis.results.selection import NoRunError
from trellis.results.writeup import card, citation, data, export, facts, markdown, methods, tripod
from trellis.workflow.contracts.layout import Run


@pytest.fixture
def gather(run, client, bucket):
    """The facts of the run, as its files are now."""

    def gather(record=None):
        return facts.load(client, load_files(client, Run(bucket, "digits", "r")), record)

    return gather


def cells(text, first):
    """The rows of a text's table whose first head is this: a list of lists."""
    (found,) = re.findall(rf"^\| {re.escape(first)} \|.*\n\| ---.*\n((?:\|.*\n?)*)", text, re.M)
    return [[cell.strip() for cell in row.strip()[1:-1].split("|")] for row in found.splitlines()]


def test_the_counts_by_split_and_class_are_those_of_the_dataset(gather, put):
    made = dataset(numeric("age", [1, 2]), classes={"ill": 1300, "healthy": 200})
    made["counts"]["test"] = {"examples": 40, "classes": {"ill": 31, "healthy": 9}}
    put("digits/datasets/3f2a/dataset.json", made)
    f = gather()
    assert cells(methods.text(f), "class") == [
        ["all", "1,500", "1,500", "40"],
        ["`ill`", "1,300 (86.7%)", "1,300 (86.7%)", "31 (77.5%)"],
        ["`healthy`", "200 (13.3%)", "200 (13.3%)", "9 (22.5%)"],
    ]
    assert "3,040 examples, 1,500 for train, 1,500 for validation and 40 for test" in data.source(f)
    assert "`ill` 1,300 and `healthy` 200" in tripod.text(f)


def test_the_rule_of_the_split_is_told(gather, put):
    shares = {"train": [0, 70], "validation": [70, 85], "test": [85, 100]}
    for split, words in (
        ({"rule": "FARM_FINGERPRINT(key) mod 100", **shares},
         "a hash of each example's key (70% train, 15% validation and 15% test)"),
        ({"rule": "FARM_FINGERPRINT(group) mod 100", "by": "patient", **shares},
         "all examples of one `patient` were in one split"),
        ({"rule": "taken: validation from 2024-01-01, test from 2024-02-01"},
         "a fixed rule (taken: validation from 2024-01-01, test from 2024-02-01)"),
    ):  # fmt: skip
        made = dataset(numeric("age", [1, 2])) | {"split": split}
        put("digits/datasets/3f2a/dataset.json", made)
        assert words in methods.text(gather())


def test_the_dates_of_each_split_are_those_of_its_rows(gather, put, client, bucket):
    """By two files, of which one has no row of a split, and a column that is kept, no feature."""
    days = pd.to_datetime(["2024-03-01", "2023-12-31", "2024-01-05", "2025-01-01"])
    taken = numeric("taken at", [1, 2], kind="timestamp") | {"column": "taken_at"}
    put("digits/datasets/3f2a/dataset.json", dataset(taken))
    for blob in client.list_blobs(bucket, prefix="digits/datasets/3f2a/source/"):
        blob.delete()
    rows = pd.DataFrame(
        {
            "key": list("abcd"),
            "split": ["train", "test", "train", "train"],
            "label": "ill",
            "taken_at": days,
            "born": [day.date() for day in days],
            "never": pd.Series([pd.NaT] * 4),
        }
    )
    for part, some in enumerate((rows[:2], rows[2:])):
        sink = io.BytesIO()
        some.to_parquet(sink)
        put(f"digits/datasets/3f2a/source/rows-{part}.parquet", sink.getvalue())
    f = gather()
    assert {one.column: one.by_split for one in f.dates} == {
        "taken at": {
            "train": ("2024-01-05T00:00:00", "2025-01-01T00:00:00"),
            "test": ("2023-12-31T00:00:00", "2023-12-31T00:00:00"),
        }
    }
    assert "`taken at` was 2024-01-05T00:00:00 to 2025-01-01T00:00:00 in train" in methods.text(f)

    # Rows that are gone leave the dates open.
    for blob in client.list_blobs(bucket, prefix="digits/datasets/3f2a/source/"):
        blob.delete()
    assert data.dates(gather()).startswith("[OPEN: dates")


def test_what_a_run_used_is_told_with_versions_digests_seeds_and_hours(gather, put, digits, bucket):
    plan = a_plan_of(digits, "r", bucket)
    plan["images"] = {"example.com/trainer:7": f"sha256:{'c' * 64}"}
    put("digits/runs/r/plan.json", plan | {"contracts": plan["contracts"]})
    board = json.loads(json.dumps(a_board()))
    board["provenance"] = {
        "versions": {"python": "3.11.9", "numpy": "2.4.6"},
        "code_sha256": "ab" * 32,
    }
    board["uncertainty"] |= {"comparisons": 3, "resamples": 1234, "seed": 77}
    put("digits/runs/r/leaderboard/leaderboard.json", board)
    text = methods.text(gather())
    for told in ("python 3.11.9 and numpy 2.4.6", "ab" * 32, "`example.com/trainer:7` (sha256:cccc",
                 "1,234 resamples (seed 77)", "the 3 intervals", "(Bonferroni)"):  # fmt: skip
        assert told in text
    # Two trials of a minute each.
    assert "trials 0.033 hours on" in text
    assert "1 of 2 trials came to a result" in text
    for metric in board["metrics"].values():
        assert [metric["title"], metric["description"], metric["interval"]] in [
            row[:3] for row in cells(text, "metric")
        ]
    assert f"version = {{{plan['contracts']}}}" in citation.text(gather())


def test_a_hyperparameter_is_told_with_who_set_it(gather, put, digits, bucket):
    plan = a_plan_of(digits, "r", bucket)
    plan["configuration"]["hyperparameters"] = {"batch_size": 64}
    plan["configuration"]["tune"]["search"] = {"units": {"choose": [8, 16]}}
    plan["configuration"]["model"] = "dense"
    put("digits/runs/r/plan.json", plan)
    board = gather().board.to_document()
    (chosen,) = (c for c in board["contenders"] if c["selected"])
    chosen["hyperparameters"] = {"units": 16, "batch_size": 64, "dropout": 0.25}
    put("digits/runs/r/leaderboard/leaderboard.json", board)
    assert cells(methods.text(gather()), "hyperparameter") == [
        ["`units`", "16", "searched"],
        ["`batch_size`", "64", "fixed"],
        ["`dropout`", "0.25", "default"],
    ]


def test_a_model_of_the_groups_own_is_not_described_as_ours(gather, put, digits, bucket):
    plan = a_plan_of(digits, "r", bucket)
    plan["configuration"] |= {"model": "forest.py", "other_models": {}}
    put("digits/runs/r/plan.json", plan)
    text = methods.text(gather())
    assert "`forest.py`, a program of the group's own" in text
    assert "standardized" not in text
    assert "[OPEN: how]" in text


def test_missing_values_are_those_of_the_training_split(gather, put):
    ages, sites = numeric("age", [1, 2], missing=100), categorical("site", "aab", missing=250)
    put("digits/datasets/3f2a/dataset.json", dataset(ages, sites))
    assert "2 of 2 predictors had missing values in the training split, at most 25.0% (`site`)" in (
        methods.text(gather())
    )


def test_the_checklist_has_every_item_and_leaves_open_what_no_run_tells(gather):
    f = gather()
    rows = cells(tripod.text(f), "item")
    assert [row[0] for row in rows] == [item.number for item in tripod.ITEMS]
    assert {int(re.match(r"\d+", row[0])[0]) for row in rows} == {*range(1, 28)}
    assert len({row[0] for row in rows}) == len(rows) == 52
    for item, (_, _, told) in zip(tripod.ITEMS, rows, strict=True):
        assert told, item
        assert (item.tells is None) <= told.startswith("[OPEN: ")
        assert "[OPEN: ]" not in told
    assert "accuracy 0.9000 [0.8000, 0.9500]" in {r[0]: r[2] for r in rows}["23a"]


def test_the_card_names_the_selected_training_and_who_approved_it(gather, put):
    put("digits/runs/r/approval.json", an_approval("approved", "olga", None))
    text = card.text(gather())
    assert text.startswith("# Model card: digits, training/1\n")
    rows = cells(text, "contender")
    assert rows[0][:2] == ["`training/1` (winner, selected)", "0.9000 [0.8000, 0.9500]"]
    assert "olga approved it" in text
    assert "[OPEN: who may use it" in text


@pytest.mark.parametrize("text", ["a|b", "a\nb", "a`b", "| x |"])
def test_no_name_breaks_a_table(text):
    lines = markdown.table(["name", "n"], [[markdown.code(text), 1]]).splitlines()
    assert len(lines) == 3
    assert len(re.findall(r"(?<!\\)\|", lines[2])) == 3


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


def test_a_run_that_has_not_ended_is_refused(gather, client, bucket):
    client.bucket(bucket).blob("digits/runs/r/leaderboard/leaderboard.json").delete()
    with pytest.raises(NoRunError, match="has no leaderboard: the run has not ended"):
        gather()


def test_the_commands(run, digits, add, dags, bucket, tmp_path, capsys):
    add(a_run(digits, "r", a_board(), bucket=bucket))
    where = ["--platform", str(dags)]
    assert main(["methods", "digits", *where]) == 0
    out = capsys.readouterr().out
    for part in ("## Methods", "# Model card: digits", "# TRIPOD+AI checklist", "@software{"):
        assert part in out
    assert main(["export", "digits/r", "--to", str(tmp_path / "paper"), *where]) == 0
    assert (tmp_path / "paper/figures/roc.pdf").exists()
    capsys.readouterr()
    assert main(["export", "digits/r", "--to", str(tmp_path / "paper"), *where]) == 1
    assert "has files already" in capsys.readouterr().err
    assert main(["methods", "digts", *where]) == 1
    assert "did you mean 'digits'?" in capsys.readouterr().err


def test_parts_of_the_test_split_and_calibration_are_told_where_there_are_any(gather, put):
    f = gather()
    assert "was also scored in" not in methods.text(f)
    board = f.board.to_document()
    (chosen,) = (c for c in board["contenders"] if c["selected"])
    lower = {"value": -0.02, "interval": [-0.03, -0.01]}
    before = {"log_loss": {"value": 0.12, "interval": [0.05, 0.2]}}
    change = {"log_loss": lower}
    calibration = {"method": "temperature", "examples": 55, "before": before, "change": change}
    chosen["training"]["calibration"] = calibration
    put("digits/runs/r/leaderboard/leaderboard.json", {**board, "slices": SLICES})
    f = gather()
    assert cells(methods.text(f), "part") == [
        ["`site = b`", "20", "0.5000 [0.3000, 0.7000]", "-0.4500 [-0.7000, -0.2000]"],
        ["`site = c`", "5", "", ""],
    ]
    told = {row[0]: row[2] for row in cells(tripod.text(f), "item")}
    for number in ("12d", "14", "23b"):
        assert "It was worse in `site = b`." in told[number]
    assert "calibrated by temperature on 55 examples" in told["12f"]
    assert "log loss by -0.0200 [-0.0300, -0.0100]" in told["12f"]

"""`trellis methods` and `trellis export`: what a run has done, for a paper."""

import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import trellis
from tests.contracts.datasets import categorical, dataset, numeric
from tests.trellis.results.a_run import TRIALS, epochs, metrics
from tests.trellis.results.made import SLICES, a_board, a_plan_of, a_run, an_approval
from tests.wording import says
from trellis.__main__ import main
from trellis.results.files import load_files
from trellis.results.selection import NoRunError
from trellis.results.writeup import (
    card,
    citation,
    data,
    export,
    facts,
    markdown,
    methods,
    modelling,
    tripod,
)
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
    counts = "3,040 examples", "1,500 for train", "1,500 for validation", "40 for test"
    assert says(data.source(f), counts)
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
    dates = "2024-01-05T00:00:00 to 2025-01-01T00:00:00"
    assert says(methods.text(f), "`taken at`", f"{dates} in train")

    # Rows that are gone leave the dates open.
    for blob in client.list_blobs(bucket, prefix="digits/datasets/3f2a/source/"):
        blob.delete()
    assert data.dates(gather()).startswith("[OPEN: dates")


def test_groups_are_counted_beside_their_rows(gather, put, client, bucket):
    """Patients of two visits and one, in two files that share one of them."""
    by = {"rule": "FARM_FINGERPRINT(group) mod 100", "by": "patient"}
    put("digits/datasets/3f2a/dataset.json", dataset(numeric("age", [1, 2])) | {"split": by})
    for blob in client.list_blobs(bucket, prefix="digits/datasets/3f2a/source/"):
        blob.delete()
    assert "how many values of `patient`" in data.source(gather())
    splits = ["train"] * 4 + ["validation", "test"]
    rows = pd.DataFrame({"split": splits, "split_by": ["p1", "p2", "p1", "p1", "p3", "p4"]})
    for part, some in enumerate((rows[:2], rows[2:])):
        sink = io.BytesIO()
        some.to_parquet(sink)
        put(f"digits/datasets/3f2a/source/rows-{part}.parquet", sink.getvalue())
    told = "They are of 4 values of `patient`, 2 for train, 1 for validation and 1 for test."
    assert told in methods.text(gather())
    assert told in tripod.text(gather())


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


def test_the_hours_are_those_of_all_trials_and_trainings(gather, put, digits, bucket):
    """Each training counts once, whether it was in a fold, not selected, or had another seed."""
    plan = a_plan_of(digits, "r", bucket)
    plan["configuration"]["train"] |= {"folds": 3, "repeats": 2, "seeds": 2}
    plan["configuration"]["train"]["machines"] = {"type": "n1-standard-4", "workers": 2}
    put("digits/runs/r/plan.json", plan)
    parts = [f"{repeat}-{fold}" for repeat in (1, 2) for fold in (1, 2, 3)]
    for part in parts:
        put(f"digits/runs/r/folds/{part}/trials.json", TRIALS)
        for rank in (1, 2):
            put(f"digits/runs/r/folds/{part}/training/{rank}/metrics.json", metrics(epochs(100)))
        # Its time is that of the trial.
        put(f"digits/runs/r/folds/{part}/tuning/1/metrics.json", metrics(epochs(7000)))
    put("digits/runs/r/training/1/metrics.json", metrics(epochs(200)))
    put("digits/runs/r/training/2/metrics.json", metrics(epochs(200)))
    put("digits/runs/r/training/1/seeds/1/metrics.json", metrics(epochs(200)))
    put("digits/runs/r/tuning/1/metrics.json", metrics(epochs(7000)))
    told = modelling.hardware(gather())
    # 7 searches of two trials of a minute each; an epoch takes a second of both workers.
    assert says(told, "14 trials", "12 of them in folds", "0.23 hours")
    assert says(told, "15 full trainings", "12 in folds", "1 with other seeds", "1 machine hours")
    assert "lost attempts are left out" in told


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
    assert "`forest.py`, a program" in text
    assert "standardized" not in text
    assert "[OPEN: how]" in text


def test_missing_values_are_those_of_the_training_split(gather, put):
    ages, sites = numeric("age", [1, 2], missing=100), categorical("site", "aab", missing=250)
    put("digits/datasets/3f2a/dataset.json", dataset(ages, sites))
    f = gather()
    assert says(methods.text(f), "2 of 2 predictors", "at most 25.0% (`site`)")
    (told,) = (row[2] for row in cells(tripod.text(f), "item") if row[0] == "11")
    assert "[OPEN: why they are missing]" in told
    put("digits/datasets/3f2a/dataset.json", dataset(numeric("age", [1, 2])))
    (told,) = (row[2] for row in cells(tripod.text(gather()), "item") if row[0] == "11")
    assert told == "No predictor had missing values in the training split."


def test_the_checklist_is_the_published_one():
    published = json.loads(Path(__file__).with_name("tripod_ai.json").read_text())
    items = [(each["item"], each["title"]) for each in published["items"]]
    assert [(item.number, item.title) for item in tripod.ITEMS] == items
    # As the statement counts: 27 items, 52 with their parts.
    assert ({int(re.match(r"\d+", number)[0]) for number, _ in items}, len(items)) == (
        {*range(1, 28)},
        52,
    )


def test_the_checklist_has_every_item_and_leaves_open_what_no_run_tells(gather):
    f = gather()
    rows = cells(tripod.text(f), "item")
    assert [row[0] for row in rows] == [item.number for item in tripod.ITEMS]
    for item, (_, _, told) in zip(tripod.ITEMS, rows, strict=True):
        assert told, item
        assert (item.tells is None) <= told.startswith("[OPEN: ")
        assert "[OPEN: ]" not in told
    told = {row[0]: row[2] for row in rows}
    assert "accuracy 0.9000 [0.8000, 0.9500]" in told["23a"]
    assert "[OPEN: key subgroups" in told["23a"]
    assert told["24"].startswith("[OPEN: ")
    assert "model/`) predicted each example of the test split" in told["12g"]
    assert "examples, " in told["21"]


def test_the_checklist_has_the_characteristics_and_the_outcome_of_each_split(gather, put):
    ages = numeric("age", [30, 50], missing=2)
    smokes = numeric("smokes", [0, 0, 0, 1], kind="boolean")
    seen = numeric("seen", [0, 86400 * 365], kind="timestamp")
    made = dataset(ages, smokes, seen, categorical("site", "aaabcdefg"))
    made["counts"]["test"] = {"examples": 40, "classes": {"a": 30, "b": 10}}
    put("digits/datasets/3f2a/dataset.json", made)
    told = {row[0]: row[2] for row in cells(tripod.text(gather()), "item")}
    for words in (
        "`age` mean 40 (SD 10), 30 to 50, 50.0% missing",
        "`smokes` true 25.0%",
        "`seen` 1970-01-01 to 1971-01-01",
        "`site` `a` 33.3%, `b` 11.1%, `c` 11.1%, `d` 11.1%, `e` 11.1% and others 22.2%",
    ):
        assert words in told["20b"]
    half, quarter = "500 (50.0%)", "10 (25.0%)"
    facts = f"`b` {half} in train", f"{half} in validation", f"{quarter} in test"
    assert says(told["20c"], facts)
    assert told["20c"].endswith("predictors in the evaluation data]")


def test_decisions_and_abstention_are_told_with_their_effects(gather, put):
    f = gather()
    for text in (methods.text(f), card.text(f)):
        assert "threshold" not in text
        assert "hands back" not in text
    board = f.board.to_document()
    (chosen,) = (c for c in board["contenders"] if c["selected"])
    half = {"accuracy": a(0.85, 0.75, 0.9)}
    spent = {"model": a(0.31, 0.25, 0.4), "at_half": a(0.41, 0.3, 0.5), "change": a(-0.1, -0.2, 0)}
    cost = {"missed": 10.0, "false_alarm": 1.0, "all": 0.7, "none": 3.0, **spent}
    found = {"rule": {"cost": {"missed": 10.0, "false_alarm": 1.0}}, "above": 0.0909}
    chosen["training"] |= {
        "threshold": {"class": "ill", "above": 0.0909},
        "decision": {**found, "at_half": half, "cost": cost},
        "abstention": {
            "share": 0.1,
            "answered": a(0.88, 0.8, 0.93),
            "risk": a(0.05, 0.02, 0.09),
            "risk_of_all": a(0.1, 0.06, 0.15),
            "cost": a(0.2, 0.1, 0.3),
        },
    }
    put("digits/runs/r/leaderboard/leaderboard.json", board)
    f = gather()
    checklist = {row[0]: row[2] for row in cells(tripod.text(f), "item")}
    for text in (methods.text(f), card.text(f), checklist["23a"]):
        for words in (
            "of least cost, where a missed `ill` costs 10 and a false alarm 1, on the validation",
            "`ill` was decided above 0.0909",
            "accuracy 0.9000 [0.8000, 0.9500] (0.8500 [0.7500, 0.9000] at a half)",
            "cost 0.3100 [0.2500, 0.4000], which is -0.1000 [-0.2000, +0.0000] against",
            "as `ill` would cost 0.7000, none 3.0000",
            "the least certain 10% of the validation split",
            "it answered a share of 0.8800 [0.8000, 0.9300]",
            "wrong in 0.0500 [0.0200, 0.0900] of these, and in 0.1000 [0.0600, 0.1500] of all",
            "An answered example cost 0.2000 [0.1000, 0.3000].",
        ):
            assert words in text
    for rule, words in (
        ({"sensitivity": 0.95}, "of highest specificity with a sensitivity of at least 0.95"),
        ({"maximize": "accuracy"}, "with the highest accuracy"),
    ):
        chosen["training"]["decision"] = {**found, "rule": rule, "at_half": half}
        put("digits/runs/r/leaderboard/leaderboard.json", board)
        text = methods.text(gather())
        assert words in text
        assert "A decision cost" not in text


def a(value, low, high):
    """An estimate of a leaderboard."""
    return {"value": value, "interval": [low, high]}


def test_a_training_that_went_on_from_the_served_model_is_told_beside_the_best_cold_one(
    gather, put
):
    board = gather().board.to_document()
    (cold,) = (c for c in board["contenders"] if c["selected"])
    warm = json.loads(json.dumps(cold)) | {"name": "training/2", "rank": 1, "selected": False}
    cold["rank"] = 3
    warm["training"]["start"] = "gs://b/digits/runs/q/training/1/checkpoints/s/best.npz"
    warm["metrics"]["accuracy"] = a(0.95, 0.9, 0.98)
    board["contenders"].append(warm)
    put("digits/runs/r/leaderboard/leaderboard.json", board)
    told = {row[0]: row[2] for row in cells(tripod.text(gather()), "item")}
    warmed, best = "0.9500 [0.9000, 0.9800]", "0.9000 [0.8000, 0.9500]"
    assert says(told["24"], "`training/2`", "served", "accuracy", warmed, best, "`training/1`")


def test_the_card_names_the_selected_training_and_who_approved_it(gather, put):
    put("digits/runs/r/approval.json", an_approval("approved", "olga", None))
    text = card.text(gather())
    assert text.startswith("# Model card: digits, training/1\n")
    rows = cells(text, "contender")
    assert rows[0][:2] == ["`training/1` (winner, selected)", "0.9000 [0.8000, 0.9500]"]
    assert "olga approved it" in text
    assert "[OPEN: who may use it" in text


def test_the_card_begins_with_what_the_file_says_of_itself(gather):
    f = gather()
    about = "Who recurs? The women of\nthree sites.\n\nTwo minutes on a laptop."
    text = card.text(replace(f, plan=replace(f.plan, description=about)))
    assert text.splitlines()[2] == "Who recurs? The women of three sites."


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
    assert "It was worse in `site = b`." in told["23a"]
    assert "[OPEN: key subgroups" not in told["23a"]
    assert told["12f"] == told["24"]
    assert "calibrated by temperature on 55 examples" in told["12f"]
    assert "log loss by -0.0200 [-0.0300, -0.0100]" in told["12f"]

"""From the frozen rows with their folds to a dataset for each fold. The whole program, on paths."""

import json

import numpy as np
import pytest

from tests.trainer.exporting.tables.helpers import KEYS, ROWS, SMALL, read_examples, run, small
from tests.trainer.exporting.tables.helpers import write_table as write_rows
from trainer import dataset_description, folds
from trellis_contracts.dataset import SPLITS
from trellis_contracts.folds import EVERYTHING, FIRST, Folds, dataset, derived
from trellis_contracts.program import inputs

RULE = Folds(count=4, repeats=2)
DEALT = {
    "fold_1": (np.arange(ROWS) % 4 + 1).tolist(),
    "fold_2": (np.arange(ROWS) // 3 % 4 + 1).tolist(),
}
FLAGS = ["--task=t", "--metric=auc", "--epochs=1", "--seed=0", "--outputs=all"]
SPLIT = [SPLITS[RULE.splits(FIRST)[fold - 1]] for fold in DEALT["fold_1"]]


def whole(folder, **changed):
    """A dataset's folder with its rows, exported."""
    words = {"rule": RULE.rule(FIRST), "folds": RULE.to_document()}
    columns = small(split=SPLIT, **DEALT)
    write_rows(folder / "source", columns, SMALL, split=words | changed)
    assert run(folder / "source/columns.json", folder) == 0
    return str(folder) + "/"


def keys(address, split):
    return {example["key"][0].decode() for example in read_examples(address, split)}


def test_every_row_is_tested_once_in_each_repeat_and_never_by_what_has_seen_it(tmp_path):
    address = whole(tmp_path)
    folds.make(address, "f", 2)
    tested = {1: [], 2: []}
    for part in RULE.parts:
        by_split = {split: keys(dataset(address, part), split) for split in SPLITS}
        assert set().union(*by_split.values()) == set(KEYS)
        assert sum(map(len, by_split.values())) == ROWS
        tested[int(part[0])] += sorted(by_split["test"])
    assert [sorted(every) == sorted(KEYS) for every in tested.values()] == [True, True]
    # In another repeat, others are together.
    assert keys(dataset(address, "1-2"), "test") != keys(dataset(address, "2-2"), "test")


def test_all_but_the_first_fold_trains_the_model_to_deploy(tmp_path):
    address = whole(tmp_path)
    folds.make(address, "f", 2)
    last = dataset(address, EVERYTHING)
    first_fold = {key for key, fold in zip(KEYS, DEALT["fold_1"], strict=True) if fold == 1}
    assert keys(last, "validation") == first_fold == keys(address, "test")
    assert keys(last, "train") == set(KEYS) - first_fold
    described = dataset_description.load(last)
    assert described.examples("test") == 0
    assert described.files["test"] == ()
    assert not any("test split" in warning for warning in described.warnings)


def test_programs_that_are_not_ours_find_the_rows_of_each_part(tmp_path):
    address = whole(tmp_path)
    folds.make(address, "f", 2)
    for part in derived(RULE):
        job = inputs.job([f"--dataset={dataset(address, part)}", *FLAGS])
        for split in SPLITS:
            rows = job.rows(split)
            assert set(rows["key"].to_pylist()) == keys(dataset(address, part), split)
            assert not {*rows.column_names} & {*RULE.columns}
        assert job.held_out == ("validation" if part == EVERYTHING else "test")


def test_statistics_and_vocabularies_are_of_a_folds_own_train_split(tmp_path):
    address = whole(tmp_path)
    folds.make(address, "f", 2)
    seen = {}
    for part in RULE.parts:
        described = dataset_description.load(dataset(address, part))
        trained = keys(dataset(address, part), "train")
        own = [x for key, x in zip(KEYS, small()["x"], strict=True) if key in trained]
        seen[part] = described.features[0].statistics.mean
        assert seen[part] == pytest.approx(np.mean(own))
        assert described.split.rule == RULE.rule(part)
    assert len(set(seen.values())) > 4


def test_what_is_there_is_not_written_again(tmp_path, capsys):
    address = whole(tmp_path)
    folds.make(address, "f", 2)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "folds").rglob("*.json")}
    assert len(before) == len(derived(RULE))
    folds.make(address, "f", 2)
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_rows_without_folds_are_refused(tmp_path, capsys):
    write_rows(tmp_path / "source", small(), SMALL)
    assert folds.main([f"--dataset={tmp_path}", "--fingerprint=f"]) == 1
    assert "train.folds" in capsys.readouterr().err


def test_a_row_whose_fold_is_unknown_is_refused(tmp_path, capsys):
    address = whole(tmp_path)
    columns = small(split=SPLIT, **(DEALT | {"fold_2": [9, *DEALT["fold_2"][1:]]}))
    words = {"rule": RULE.rule(FIRST), "folds": RULE.to_document()}
    write_rows(tmp_path / "source", columns, SMALL, split=words)
    assert folds.main([f"--dataset={address}", "--fingerprint=f"]) == 1
    assert "1 row" in capsys.readouterr().err


def test_groups_of_the_test_split_are_known(tmp_path):
    columns = small(split=SPLIT, split_by=[f"p{n % 40}" for n in range(ROWS)], **DEALT)
    words = {"rule": RULE.rule(FIRST), "folds": RULE.to_document(), "by": "patient"}
    write_rows(tmp_path / "source", columns, SMALL, split=words)
    assert run(tmp_path / "source/columns.json", tmp_path) == 0
    folds.make(str(tmp_path), "f", 2)
    described = json.loads((tmp_path / "folds/1-2/dataset.json").read_text())
    assert described["split"]["by"] == "patient"
    groups = [example["group"] for example in read_examples(tmp_path / "folds/1-2", "test")]
    assert len(groups) == ROWS // 4

"""Which rows of a table are in which split: by key, by group, by a column."""

import random

from tests.trainer.exporting.tables.helpers import (
    KEYS,
    RANGES,
    ROWS,
    SMALL,
    feature,
    read_examples,
    run,
    small,
    split_of,
    write_table,
)
from tests.wording import says
from trainer import dataset_description
from trainer.comparison.held_out_split import read_held_out_split
from trainer.exporting.splits import fingerprints
from trellis_contracts.dataset import GROUP_RULE, SPLITS, Split


def test_no_key_is_ever_in_two_splits(tmp_path):
    # Two overlapping partitions, an order of its own for each, and both together.
    random_ = random.Random(1)
    everyone = [f"patient {random_.getrandbits(70)} é" for _ in range(400)]
    found = {}
    for number, keys in enumerate((everyone[:250], everyone[150:], everyone)):
        keys = random_.sample(keys, len(keys))
        table = {
            "key": keys,
            "label": ["a", "b"] * (len(keys) // 2),
            "x": [1.0, 2.0] * (len(keys) // 2),
        }
        source = write_table(tmp_path / f"source{number}", table, [feature("x")])
        assert run(source, tmp_path / f"dataset{number}", shards=2) == 0
        for split in SPLITS:
            for example in read_examples(tmp_path / f"dataset{number}", split):
                found.setdefault(example["key"][0].decode(), set()).add(split)
    assert set(found) == set(everyone)
    assert all(len(splits) == 1 for splits in found.values())


def grouped(**changed):
    """The small table, three rows of it a patient's, with the split of the patients."""
    patients = [f"p{n // 3}" for n in range(ROWS)]
    return small(split=split_of(patients), split_by=patients) | changed


def test_rows_of_one_group_stay_together_and_what_is_scored_says_whose_they_are(tmp_path):
    split = {name: list(edges) for name, edges in RANGES.items()} | {"by": "patient"}
    source = write_table(tmp_path / "source", grouped(), SMALL, split=split)
    assert run(source, tmp_path / "dataset") == 0
    description = dataset_description.load(str(tmp_path / "dataset"))
    assert description.split == Split(GROUP_RULE, RANGES, by="patient")
    seen = {}
    for name in SPLITS:
        for example in read_examples(tmp_path / "dataset", name):
            patient = f"p{KEYS.index(example['key'][0].decode()) // 3}"
            assert seen.setdefault(patient, name) == name
            assert example.get("group") == (
                fingerprints([patient]).tolist() if name != "train" else None
            )
    assert len(seen) == ROWS // 3
    test = read_held_out_split(str(tmp_path / "dataset"), description)
    assert test.groups.count == sum(name == "test" for name in seen.values())
    assert set(test.groups.sizes) == {3}


def test_a_split_that_is_not_the_groups_is_refused(tmp_path, capsys):
    split = {name: list(edges) for name, edges in RANGES.items()} | {"by": "patient"}
    wrong = {"split": split_of(KEYS)}
    source = write_table(tmp_path / "source", grouped(**wrong), SMALL, split=split)
    assert run(source, tmp_path / "dataset") == 1
    assert "FARM_FINGERPRINT(split_by)" in capsys.readouterr().err
    patients = [None, *(f"p{n // 3}" for n in range(1, ROWS))]
    source = write_table(tmp_path / "null", grouped(split_by=patients), SMALL, split=split)
    assert run(source, tmp_path / "other") == 1
    assert "the group (patient) is NULL: in 1 row" in capsys.readouterr().err
    assert "key 'été/0'" in (tmp_path / "other/examples/export.txt").read_text()


def test_a_rule_without_hashes_is_the_column_of_the_rows_and_findings_are_kept(tmp_path, capsys):
    splits = [SPLITS[n % 3] for n in range(ROWS)]
    rule = {"rule": "column fold"}
    findings = [{"check": "label", "feature": "the x", "text": "it tells the label"}]
    table = small(split=splits)
    source = write_table(tmp_path / "source", table, SMALL, split=rule, findings=findings)
    assert run(source, tmp_path / "dataset") == 0
    description = dataset_description.load(str(tmp_path / "dataset"))
    assert description.split == Split("column fold")
    assert description.warnings[0] == "it tells the label"
    for name in SPLITS:
        keys = {e["key"][0].decode() for e in read_examples(tmp_path / "dataset", name)}
        assert keys == {key for key, split in zip(KEYS, splits, strict=True) if split == name}
    splits[4] = "holdout"
    source = write_table(tmp_path / "bad", small(split=splits), SMALL, split=rule)
    assert run(source, tmp_path / "other") == 1
    error = capsys.readouterr().err
    assert says(error, "`split`", ", ".join(SPLITS), "1 row")

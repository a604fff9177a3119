"""Tables that the export refuses, leaving nothing, and those it takes with a warning.

These run the whole program on this machine, on paths instead of gs:// addresses.
"""

import math

import pyarrow as pa
import pytest

from tests.trainer.exporting.tables.helpers import (
    KEYS,
    RANGES,
    ROWS,
    SMALL,
    SOURCE,
    feature,
    read_examples,
    run,
    small,
    split_of,
    take,
    write_table,
)
from tests.wording import says
from trainer import dataset_description
from trainer.exporting import ExportError, classes
from trainer.exporting.flags import parse_flags
from trainer.exporting.run import place

TRAIN, TEST = (split_of(KEYS).index(split) for split in ("train", "test"))


def with_value(values, place, value):
    return [value if i == place else v for i, v in enumerate(values)]


@pytest.mark.parametrize(
    ("changed", "others", "message"),
    [
        (
            {"key": with_value(KEYS, 5, None)},
            {},
            ("sample_id", "NULL"),
        ),
        ({"key": with_value(KEYS, 5, "")}, {}, ("sample_id", "NULL")),
        (
            {"key": with_value(KEYS, 5, KEYS[7])},
            {},
            ("sample_id", "'été/7'"),
        ),
        (
            {"split": with_value(split_of(KEYS), TRAIN, "test")},
            {},
            "column `split` is not the split of the key: ABS(MOD(FARM_FINGERPRINT(key), 100)) in "
            f"{RANGES}: in 1 row, key {KEYS[TRAIN]!r}",
        ),
        ({"split": ["train"] * ROWS}, {}, ", ..."),
        (
            {"label": with_value(["a", "b"] * 150, 4, None)},
            {},
            ("NULL", "'été/4'"),
        ),
        ({"label": ["a"] * ROWS}, {}, "the label (malignant) is 'a' in every row"),
        ({"label": ["a", "b", "c"] * 100}, {}, "has 3 classes ('a', 'b', 'c'), but the task is"),
        (
            {"label": with_value(["a", "b"] * 150, TEST, "c")},
            {"task": "multiclass_classification"},
            ("1 of 3", "'c'"),
        ),
        (
            {"x": with_value([1.0] * ROWS, 8, math.inf)},
            {},
            ("'the x'", "float32", "3.4e38", "'été/8'"),
        ),
        ({"x": with_value([1.0] * ROWS, 8, -1e39)}, {}, "'the x' (column x) is infinite, or"),
        (
            {
                "x": [1.0 if split == "test" else None for split in split_of(KEYS)],
                "s": pa.nulls(ROWS, pa.string()),
            },
            {},
            ("2 of 2", "NULL", "'the x', 's'"),
        ),
        ({"x": [str(i) for i in range(ROWS)]}, {}, "column x is string, not FLOAT64"),
        ({}, {"features": [*SMALL, feature("y")]}, "column y is missing"),
        ({}, {"source": SOURCE | {"rows": 7}}, "have 300 rows, but columns.json says 7"),
        ({}, {"shards": 290}, "--shards 290 is more than the "),
        (
            {"label": with_value([1.0] * ROWS, 3, math.nan)},
            {"task": "regression"},
            ("NaN", "'été/3'"),
        ),
        (
            {"label": with_value([1.0] * ROWS, 3, None)},
            {"task": "regression"},
            ("NULL", "'été/3'"),
        ),
        (
            {"label": with_value([1.0] * ROWS, 3, math.inf)},
            {"task": "regression"},
            "the label (malignant) is infinite",
        ),
        ({"label": [1.0] * ROWS}, {"task": "regression"}, "is 1.0 in every row of the train split"),
        (
            {"example_weight": [None, math.nan, -0.5, *[1.0] * (ROWS - 3)]},
            {"weight": {"name": "w"}},
            "\n  the weight (w) is NULL: in 1 row, key 'été/0'\n  the weight (w) is NaN: in 1 row, "
            "key 'été/1'\n  the weight (w) is negative: in 1 row, key 'été/2'",
        ),
        (
            {"example_weight": [float(split == "test") for split in split_of(KEYS)]},
            {"weight": {"name": "w"}},
            "the weight (w) is 0 in every row of the train split",
        ),
    ],
)
def test_a_bad_table_is_refused_and_leaves_nothing(tmp_path, capsys, changed, others, message):
    others = dict(others)
    shards, features = others.pop("shards", 3), others.pop("features", SMALL)
    source = write_table(tmp_path / "source", small(**changed), features, **others)
    assert run(source, tmp_path / "dataset", shards=shards) == 1
    error = capsys.readouterr().err
    assert error.startswith("export refused: ")
    assert "été" not in error
    assert says(whole(tmp_path, error), message)
    assert not (tmp_path / "dataset/dataset.json").exists()
    assert not (tmp_path / "dataset/partial").exists()


def whole(tmp_path, error):
    """Return the refusal with what it quotes of rows, which the dataset's folder has."""
    examples = tmp_path / "dataset/examples/export.txt"
    assert examples.exists() == (str(examples) in error)
    return examples.read_text() if examples.exists() else error


def test_everything_that_is_wrong_with_rows_is_told_at_once(tmp_path, capsys):
    table = small(
        x=with_value([1.0] * ROWS, 8, math.inf),
        label=with_value(["a", "b"] * 150, 250, None),
        key=with_value(KEYS, 5, None),
    )
    source = write_table(tmp_path / "source", table, SMALL, files=3)
    assert run(source, tmp_path / "dataset") == 1
    error = whole(tmp_path, capsys.readouterr().err)
    _, infinite, no_key, no_label = error.splitlines()
    assert "(column x) is infinite" in infinite
    assert "(sample_id) is NULL" in no_key
    assert "(malignant) is NULL" in no_label


def test_a_label_that_is_a_number_is_no_class(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(classes, "MAX_CLASSES", 100)
    source = write_table(tmp_path / "source", small(label=KEYS), SMALL, files=4)
    assert run(source, tmp_path / "dataset") == 1
    assert says(capsys.readouterr().err, "malignant", "100 distinct values")


def test_a_split_without_rows_is_refused(tmp_path, capsys):
    keep = [i for i, split in enumerate(split_of(KEYS)) if split != "validation"]
    source = write_table(tmp_path / "source", take(small(), keep), SMALL)
    assert run(source, tmp_path / "dataset") == 1
    assert says(capsys.readouterr().err, "validation split", "no row", "'train': ")


def test_files_that_are_missing_empty_or_torn_are_refused(tmp_path, capsys):
    source = write_table(tmp_path / "source", take(small(), []), SMALL)
    assert run(source, tmp_path / "dataset") == 1
    assert "source.rows: expected at least 1, got 0" in capsys.readouterr().err
    source.write_text(source.read_text().replace('"rows": 0', '"rows": 5'))
    assert run(source, tmp_path / "dataset") == 1
    assert "have no rows" in capsys.readouterr().err
    (tmp_path / "source/rows-000000000000.parquet").write_bytes(b"torn")
    assert run(source, tmp_path / "dataset") == 1
    assert "is not a Parquet file" in capsys.readouterr().err
    (tmp_path / "source/rows-000000000000.parquet").unlink()
    assert run(source, tmp_path / "dataset") == 1
    assert f"there is no rows-*.parquet beside {source}" in capsys.readouterr().err
    source.unlink()
    assert run(source, tmp_path / "dataset") == 1
    assert f"there is no columns.json at {source}" in capsys.readouterr().err


def test_what_is_odd_is_a_warning(tmp_path, capsys):
    train = split_of(KEYS)[0:ROWS]
    table = small(
        x=with_value([1.0] * ROWS, TRAIN, math.nan),
        s=["red" if split != "test" else "blue" for split in train],
        label=["a" if split == "test" else "ab"[i % 2] for i, split in enumerate(train)],
    )
    source = write_table(tmp_path / "source", table, SMALL)
    assert run(source, tmp_path / "dataset") == 0
    tests = train.count("test")
    warnings = dataset_description.load(str(tmp_path / "dataset")).warnings
    assert warnings == (
        "feature 'the x' (column x) has NaN, which counts as NULL, in 1 row",
        "feature 'the x' (column x) is 1 wherever it is not NULL in the train split",
        "feature 's' is 'red' wherever it is not NULL in the train split",
        "feature 's' has terms in the validation and test split that the train split does not "
        f"have: 'blue'; the model treats these {tests} rows as out of vocabulary",
        "1 of 2 classes have no example in the test split ('b'): its metrics do not cover them",
    )
    output = capsys.readouterr().out
    assert f"{len(warnings)} warnings: see dataset.json" in output
    assert "'red'" not in output
    assert {
        example["categorical"][0] for example in read_examples(tmp_path / "dataset", "test")
    } == {1}


@pytest.mark.parametrize("flags", [(), ("--runner=FnApiRunner",)])
def test_a_columns_json_that_changes_while_the_export_begins_is_noticed(tmp_path, flags):
    source = write_table(tmp_path / "source", small(), SMALL)
    ours = [f"--source={source}", f"--output={tmp_path}/dataset", "--fingerprint=f"]
    with pytest.raises(ExportError, match="changed while the export began"):
        place(flags).run(parse_flags(ours, "")[0], sha256="of another columns.json")

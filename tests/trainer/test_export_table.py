"""From Parquet files to a dataset that TensorFlow reads; and every refusal of a table.

These run the whole program with Beam's local runner, on paths instead of gs:// addresses.
"""

import datetime
import hashlib
import json
import math
import random

import numpy as np
import pyarrow as pa
import pytest

from tests.trainer.exporting.tables.helpers import (
    RANGES,
    feature,
    read_examples,
    split_of,
    write_table,
)
from trainer import dataset_description, export
from trainer.dataset_description import NULL_TIMESTAMP, SPLITS
from trainer.exporting.splits import buckets
from trainer.exporting.tables import layout, parquet

ROWS = 300
KEYS = [f"été/{number}" for number in range(ROWS)]
SITES = ("links", "rechts", None, "mitte")
TAKEN = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=n) for n in range(ROWS)]

FEATURES = [
    feature("radius_mean", name="radius mean"),
    feature("site", "categorical", "STRING"),
    feature("pulse", "sequence", "ARRAY<FLOAT64>"),
    feature("smoker", "boolean", "BOOL"),
    feature("taken", "timestamp", "TIMESTAMP"),
    feature("ward", "categorical", "INT64"),
    feature("age", type_="INT64"),
]


def columns():
    """One value of each kind per row; row i has NULL in every feature where i % 10 == 9."""
    numbers = range(ROWS)

    def unless_ninth(values):
        return [None if i % 10 == 9 else value for i, value in zip(numbers, values, strict=True)]

    return {
        "key": KEYS,
        "label": ["malignant" if i % 3 == 0 else "benign" for i in numbers],
        "radius_mean": unless_ninth(i / 4 for i in numbers),
        "site": unless_ninth(SITES[i % 4] for i in numbers),
        "pulse": pa.array(
            unless_ninth([float(i)] * (i % 5) for i in numbers), pa.list_(pa.float64())
        ),
        "smoker": unless_ninth(i % 2 == 0 for i in numbers),
        "taken": pa.array(unless_ninth(TAKEN), pa.timestamp("us", "UTC")),
        "ward": unless_ninth(i % 3 for i in numbers),
        "age": unless_ninth(numbers),
    }


def run(source, output, *others, shards=3):
    flags = {"source": source, "output": output, "fingerprint": "f", "shards": shards}
    return export.main([*(f"--{name}={value}" for name, value in flags.items()), *others])


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def take(table, order):
    """The rows of a dictionary of columns in another order."""
    return {
        name: pa.array(values).take(pa.array(order, pa.int64())) for name, values in table.items()
    }


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The dataset of columns(); the term `mitte` is left out of the vocabulary of `site`."""
    folder = tmp_path_factory.mktemp("table")
    source = write_table(folder / "source", columns(), FEATURES, vocabulary=2)
    assert run(source, folder / "dataset") == 0
    return folder / "dataset"


def test_every_row_arrives_as_it_was_in_the_split_of_its_key(exported):
    description = dataset_description.load(str(exported))
    site, ward = description.features[1], description.features[5]
    seen = []
    for split in SPLITS:
        examples = list(read_examples(exported, split))
        assert len(examples) == description.examples(split) > 0
        start, end = RANGES[split]
        for example in examples:
            key = example["key"][0].decode()
            assert start <= buckets([key]).item() < end
            i = KEYS.index(key)
            seen.append(i)
            assert example["label"] == [1 if i % 3 == 0 else 0]
            if i % 10 == 9:
                assert all(map(math.isnan, example["numeric"]))
                assert example["categorical"] == [0, 0]
                assert example["timestamp"] == [NULL_TIMESTAMP]
                assert example["sequence/pulse"] == []
                continue
            assert example["numeric"] == [i / 4, float(i % 2 == 0), float(i)]
            terms = [SITES[i % 4], str(i % 3)]
            assert example["categorical"] == [
                0 if term is None else f.vocabulary.index(term) + 2 if term in f.vocabulary else 1
                for term, f in zip(terms, (site, ward), strict=True)
            ]
            micros = TAKEN[i].replace(tzinfo=datetime.UTC).timestamp() * 1e6
            assert example["timestamp"] == [int(micros)]
            assert example["sequence/pulse"] == [float(i)] * (i % 5)
    assert sorted(seen) == list(range(ROWS))


def test_the_description_has_the_statistics_of_the_train_split(exported):
    description = dataset_description.load(str(exported))
    assert description.kind == "table"
    assert description.task == "binary_classification"
    assert description.classes == ("benign", "malignant")
    assert [(f.name, f.index, f.dtype, f.shape) for f in description.features] == [
        ("radius mean", 0, "float32", ()),
        ("site", 0, "int64", ()),
        ("pulse", None, "float32", (None,)),
        ("smoker", 1, "float32", ()),
        ("taken", 0, "int64", ()),
        ("ward", 1, "int64", ()),
        ("age", 2, "float32", ()),
    ]
    train = [i for i, split in enumerate(split_of(KEYS)) if split == "train"]
    there = [i for i in train if i % 10 != 9]
    radius, site, pulse, smoker, taken, _, _ = (f.statistics for f in description.features)
    values = np.array(there) / 4
    assert (radius.count, radius.missing) == (len(there), len(train) - len(there))
    assert radius.mean == pytest.approx(values.mean(), rel=1e-12)
    assert radius.stddev == pytest.approx(values.std(), rel=1e-12)
    assert (radius.min, radius.max) == (values.min(), values.max())
    median = np.quantile(values, 0.5, method="inverted_cdf")
    assert radius.quantiles[10] == median
    assert smoker.mean == pytest.approx(np.mean([i % 2 == 0 for i in there]), rel=1e-12)
    assert taken.min == TAKEN[there[0]].replace(tzinfo=datetime.UTC).timestamp()
    counts = {term: sum(SITES[i % 4] == term for i in there) for term in SITES}
    kept = sorted((t for t in counts if t), key=lambda t: (-counts[t], t))[:2]
    assert description.features[1].vocabulary == tuple(kept)
    assert site.frequencies == tuple(counts[term] for term in kept)
    assert site.missing == len(train) - len(there) + counts[None]
    assert site.other == len(train) - site.missing - sum(site.frequencies)
    assert pulse.count == sum(i % 5 for i in there)
    assert (pulse.min_length, pulse.max_length) == (0, 4)
    assert pulse.mean_length == pytest.approx(pulse.count / len(train))
    assert description.source["snapshot"] == "p.d.snapshot_f"
    assert description.source["rows"] == ROWS
    assert description.split.ranges == RANGES


def test_the_folder_holds_the_dataset_and_nothing_else(exported):
    description = dataset_description.load(str(exported))
    described = {s.name: s.bytes for split in SPLITS for s in description.files[split]}
    written = files(exported)
    assert written.pop("rejected.jsonl") == b""
    assert set(written) == {*described, "dataset.json"}
    assert described == {name: len(written[name]) for name in described}
    sizes = [shard.examples for shard in description.files["train"]]
    assert max(sizes) - min(sizes) <= 1


def test_a_rerun_another_order_and_other_files_give_the_same_bytes(exported, tmp_path):
    order = list(range(ROWS))
    random.Random(0).shuffle(order)
    for name, options in (
        ("again", {}),
        ("shuffled", {"files": 3, "row_group_size": 40}),
    ):
        table = columns() if name == "again" else take(columns(), order)
        source = write_table(tmp_path / "source", table, FEATURES, vocabulary=2, **options)
        assert run(source, tmp_path / name) == 0
        written, expected = files(tmp_path / name), files(exported)
        documents = [json.loads(f.pop("dataset.json")) for f in (written, expected)]
        for document in documents:
            document["source"].pop("columns")  # the address
        assert written == expected
        assert documents[0] == documents[1]


def test_a_table_that_is_worked_on_in_many_parts_gives_the_same_records(
    exported, tmp_path, monkeypatch
):
    monkeypatch.setattr(layout, "_RANGE_CELLS", 100)
    source = write_table(tmp_path / "source", columns(), FEATURES, vocabulary=2, files=2)
    assert run(source, tmp_path / "dataset") == 0
    written, expected = files(tmp_path / "dataset"), files(exported)
    descriptions = [json.loads(f.pop("dataset.json")) for f in (written, expected)]
    assert written == expected
    assert descriptions[0]["counts"] == descriptions[1]["counts"]
    for one, other in zip(*(d["features"] for d in descriptions), strict=True):
        mean = one["statistics"].pop("mean", 0), other["statistics"].pop("mean", 0)
        spread = one["statistics"].pop("stddev", 0), other["statistics"].pop("stddev", 0)
        assert one == other
        assert mean[0] == pytest.approx(mean[1])
        assert spread[0] == pytest.approx(spread[1])


def test_the_bytes_are_as_ever(exported):
    # A new version of a library may change them; then every dataset changes under its fingerprint.
    content = b"".join(content for name, content in sorted(files(exported).items()) if "tf" in name)
    assert hashlib.sha256(content).hexdigest() == (
        "9c00255cf3413f2a31fd7c52a8a1b7102201bb10dfb65d52377a630e96affa89"
    )


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


def test_a_regression_has_values_and_no_classes(tmp_path):
    table = {
        "key": KEYS,
        "label": [i / 2 for i in range(ROWS)],
        "x": pa.array(range(ROWS), pa.int64()),
    }
    features = [feature("x", type_="INT64")]
    source = write_table(tmp_path / "source", table, features, task="regression")
    assert run(source, tmp_path / "dataset") == 0
    description = dataset_description.load(str(tmp_path / "dataset"))
    assert description.is_regression
    assert description.classes == ()
    assert description.counts["train"].classes == {}
    assert (description.label.dtype, description.label.column) == ("float32", "malignant")
    train = [i / 2 for i, split in enumerate(split_of(KEYS)) if split == "train"]
    assert description.label.statistics.mean == pytest.approx(np.mean(train))
    for example in read_examples(tmp_path / "dataset", "test"):
        assert example["label"] == [KEYS.index(example["key"][0].decode()) / 2]


def small(**changed):
    """A table with one numeric and one categorical feature; changed: columns."""
    table = {
        "key": KEYS,
        "label": ["a", "b"] * (ROWS // 2),
        "x": [float(i) for i in range(ROWS)],
        "s": ["red", "blue", "green"] * (ROWS // 3),
    }
    return table | changed


SMALL = [feature("x", name="the x"), feature("s", "categorical", "STRING")]
TRAIN, TEST = (split_of(KEYS).index(split) for split in ("train", "test"))


def with_value(values, place, value):
    return [value if i == place else v for i, v in enumerate(values)]


@pytest.mark.parametrize(
    ("changed", "others", "message"),
    [
        (
            {"key": with_value(KEYS, 5, None)},
            {},
            "\n  the key (sample_id) is NULL or empty: in 1 row",
        ),
        ({"key": with_value(KEYS, 5, "")}, {}, "the key (sample_id) is NULL or empty: in 1 row"),
        (
            {"key": with_value(KEYS, 5, KEYS[7])},
            {},
            "\n  the key (sample_id) is that of another row: in 1 row, key 'été/7'",
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
            "the label (malignant) is NULL or empty: in 1 row, key 'été/4'",
        ),
        ({"label": ["a"] * ROWS}, {}, "the label (malignant) is 'a' in every row"),
        ({"label": ["a", "b", "c"] * 100}, {}, "has 3 classes ('a', 'b', 'c'), but the task is"),
        (
            {"label": with_value(["a", "b"] * 150, TEST, "c")},
            {"task": "multiclass_classification"},
            "no row of the train split has 1 of 3 classes of the label (malignant): 'c'",
        ),
        (
            {"x": with_value([1.0] * ROWS, 8, math.inf)},
            {},
            "feature 'the x' (column x) is infinite, or beyond the 3.4e38 that float32 can hold: "
            "in 1 row, key 'été/8'",
        ),
        ({"x": with_value([1.0] * ROWS, 8, -1e39)}, {}, "'the x' (column x) is infinite, or"),
        (
            {
                "x": [1.0 if split == "test" else None for split in split_of(KEYS)],
                "s": pa.nulls(ROWS, pa.string()),
            },
            {},
            "2 of 2 features have no value in the train split, only NULL: 'the x', 's'; leave",
        ),
        ({"x": [str(i) for i in range(ROWS)]}, {}, "column x is string, not FLOAT64"),
        ({}, {"features": [*SMALL, feature("y")]}, "column y is missing"),
        ({}, {"source": {"rows": 7}}, "hold 300 rows, but columns.json counts 7"),
        ({}, {"shards": 290}, "--shards 290 is more than the "),
        (
            {"label": with_value([1.0] * ROWS, 3, math.nan)},
            {"task": "regression"},
            "the label (malignant) is NaN: in 1 row, key 'été/3'",
        ),
        (
            {"label": with_value([1.0] * ROWS, 3, None)},
            {"task": "regression"},
            "the label (malignant) is NULL: in 1 row, key 'été/3'",
        ),
        (
            {"label": with_value([1.0] * ROWS, 3, math.inf)},
            {"task": "regression"},
            "the label (malignant) is infinite",
        ),
        ({"label": [1.0] * ROWS}, {"task": "regression"}, "is 1.0 in every row of the train split"),
    ],
)
def test_a_bad_table_is_refused_and_leaves_nothing(tmp_path, capsys, changed, others, message):
    others = dict(others)
    shards, features = others.pop("shards", 3), others.pop("features", SMALL)
    source = write_table(tmp_path / "source", small(**changed), features, **others)
    assert run(source, tmp_path / "dataset", shards=shards) == 1
    error = capsys.readouterr().err
    assert error.startswith("export refused: ")
    assert message in error
    left = files(tmp_path / "dataset") if (tmp_path / "dataset").exists() else {}
    assert "dataset.json" not in left
    assert not (tmp_path / "dataset/partial").exists()


def test_everything_that_is_wrong_with_rows_is_told_at_once(tmp_path, capsys):
    table = small(
        x=with_value([1.0] * ROWS, 8, math.inf),
        label=with_value(["a", "b"] * 150, 250, None),
        key=with_value(KEYS, 5, None),
    )
    source = write_table(tmp_path / "source", table, SMALL, files=3)
    assert run(source, tmp_path / "dataset") == 1
    error = capsys.readouterr().err
    assert [line.split(":")[0].strip() for line in error.splitlines()[1:]] == [
        "feature 'the x' (column x) is infinite, or beyond the 3.4e38 that float32 can hold",
        "the key (sample_id) is NULL or empty",
        "the label (malignant) is NULL or empty",
    ]


def test_a_label_that_is_a_number_is_no_class(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(parquet, "MAX_CLASSES", 100)
    source = write_table(tmp_path / "source", small(label=KEYS), SMALL, files=4)
    assert run(source, tmp_path / "dataset") == 1
    assert "the label (malignant) has more than 100 distinct values" in capsys.readouterr().err


def test_a_split_without_rows_is_refused(tmp_path, capsys):
    keep = [i for i, split in enumerate(split_of(KEYS)) if split != "validation"]
    source = write_table(tmp_path / "source", take(small(), keep), SMALL)
    assert run(source, tmp_path / "dataset") == 1
    assert "the validation split has no row ({'train': " in capsys.readouterr().err


def test_files_that_are_missing_empty_or_torn_are_refused(tmp_path, capsys):
    source = write_table(tmp_path / "source", take(small(), []), SMALL)
    assert run(source, tmp_path / "dataset") == 1
    assert "hold no rows" in capsys.readouterr().err
    (tmp_path / "source/rows-000000000000.parquet").write_bytes(b"torn")
    assert run(source, tmp_path / "dataset") == 1
    assert "is no Parquet file" in capsys.readouterr().err
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
        "feature 'the x' (column x) is NaN in 1 rows, which counts as NULL",
        "feature 'the x' (column x) is 1 wherever it is not NULL in the train split",
        "feature 's' is 'red' wherever it is not NULL in the train split",
        f"feature 's' has 1 terms that the train split does not have ('blue') in {tests} rows of "
        "the validation and test split; they count as out of vocabulary",
        "1 of 2 classes have no example in the test split ('b'): its metrics say nothing about "
        "them",
    )
    output = capsys.readouterr().out
    assert all(f"warning: {warning}" in output for warning in warnings)
    assert {
        example["categorical"][0] for example in read_examples(tmp_path / "dataset", "test")
    } == {1}


def test_two_thousand_columns(tmp_path):
    numbers = np.random.default_rng(0).normal(size=(2000, ROWS))
    table = {"key": KEYS, "label": ["a", "b"] * (ROWS // 2)}
    table |= {f"x{i}": values for i, values in enumerate(numbers)}
    source = write_table(tmp_path / "source", table, [feature(f"x{i}") for i in range(2000)])
    assert run(source, tmp_path / "dataset") == 0
    for example in read_examples(tmp_path / "dataset", "test"):
        i = KEYS.index(example["key"][0].decode())
        assert example["numeric"] == numbers[:, i].astype(np.float32).tolist()


def test_long_keys_and_terms(tmp_path):
    keys = [f"{'ключ' * 4000} {i}" for i in range(ROWS)]
    terms = ["猫" * 30_000, "x y,z\n\0", ""] * (ROWS // 3)
    source = write_table(tmp_path / "source", small(key=keys, s=terms), SMALL)
    assert run(source, tmp_path / "dataset") == 0
    description = dataset_description.load(str(tmp_path / "dataset"))
    assert set(description.features[1].vocabulary) == set(terms)
    for example in read_examples(tmp_path / "dataset", "test"):
        i = keys.index(example["key"][0].decode())
        assert description.features[1].vocabulary[example["categorical"][0] - 2] == terms[i]


def test_an_export_that_was_killed_is_done_anew(exported, tmp_path):
    source = write_table(tmp_path / "source", columns(), FEATURES, vocabulary=2)
    partial = tmp_path / "dataset/partial"
    partial.mkdir(parents=True)
    (partial / "rows-00000-00000.arrow").write_bytes(b"half a fi")
    (partial / "rows-00009-00000.arrow").write_bytes(b"of an export with more files")
    assert run(source, tmp_path / "dataset") == 0
    assert set(files(tmp_path / "dataset")) == set(files(exported))


def test_a_columns_json_that_changes_while_the_export_begins_is_noticed(tmp_path):
    from trainer.exporting import ExportError, pipeline
    from trainer.exporting.flags import parse_flags

    source = write_table(tmp_path / "source", small(), SMALL)
    flags = [f"--source={source}", f"--output={tmp_path}/dataset", "--fingerprint=f"]
    with pytest.raises(ExportError, match="changed while the export began"):
        pipeline.run(parse_flags(flags, "")[0], [], sha256="of another columns.json")

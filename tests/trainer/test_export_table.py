"""From Parquet files to a dataset that TensorFlow reads.

These run the whole program on this machine, on paths instead of gs:// addresses.
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
    KEYS,
    RANGES,
    ROWS,
    SMALL,
    feature,
    files,
    read_examples,
    run,
    small,
    split_of,
    take,
    write_table,
)
from trainer import dataset_description
from trainer.exporting import sharding
from trainer.exporting.splits import buckets
from trainer.exporting.tables import layout
from trellis_contracts.dataset import SPLITS
from trellis_contracts.dataset_features import NULL_TIMESTAMP

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
    assert description.inputs == {"table"}
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


def test_in_processes_and_with_beam_the_bytes_are_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "_RANGE_CELLS", 100)
    source = write_table(tmp_path / "source", columns(), FEATURES, vocabulary=2, files=2)
    assert run(source, tmp_path / "processes") == 0
    assert run(source, tmp_path / "beam", "--runner=FnApiRunner") == 0
    assert files(tmp_path / "processes") == files(tmp_path / "beam")


@pytest.mark.parametrize("flags", [(), ("--runner=FnApiRunner",)])
def test_a_table_that_is_worked_on_in_many_parts_gives_the_same_records(
    exported, tmp_path, monkeypatch, flags
):
    monkeypatch.setattr(layout, "_RANGE_CELLS", 100)
    source = write_table(tmp_path / "source", columns(), FEATURES, vocabulary=2, files=2)
    assert run(source, tmp_path / "dataset", *flags) == 0
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


def test_free_text_arrives_as_it_was_and_its_statistics_are_of_its_length(tmp_path):
    notes = [None if i % 10 == 9 else "Größe " * (i % 4) for i in range(ROWS)]
    table = {"key": KEYS, "label": ["a", "b"] * (ROWS // 2), "note": notes}
    source = write_table(tmp_path / "source", table, [feature("note", "text", "STRING")])
    assert run(source, tmp_path / "dataset") == 0
    (described,) = dataset_description.load(str(tmp_path / "dataset")).features
    in_train = [note for note, of in zip(notes, split_of(KEYS), strict=True) if of == "train"]
    known = [len(note) for note in in_train if note is not None]
    statistics = described.number_statistics
    assert (statistics.count, statistics.missing) == (len(known), len(in_train) - len(known))
    assert (statistics.min, statistics.max) == (0, 18)
    assert statistics.mean == pytest.approx(np.mean(known))
    stored = {
        example["key"][0].decode(): example["text/note"][0].decode()
        for split in SPLITS
        for example in read_examples(tmp_path / "dataset", split)
    }
    assert stored == {key: note or "" for key, note in zip(KEYS, notes, strict=True)}


def test_files_by_their_bytes(tmp_path, monkeypatch, capsys):
    """A sample of the rows tells how many files there are; the rows stay the same."""
    table = small(note=[f"text {i:04}" * 20 for i in range(ROWS)])
    source = write_table(tmp_path, table, [feature("note", "text", "STRING")])
    monkeypatch.setattr(sharding, "SHARD_BYTES", 4000)
    for name in ("once", "again"):
        assert run(source, tmp_path / name, shards="2+") == 0
    assert files(tmp_path / "once") == files(tmp_path / "again")
    train = dataset_description.load(str(tmp_path / "once")).files["train"]
    assert len(train) > 5
    assert all(3000 < shard.bytes < 5000 for shard in train)
    assert f"{len(train)} files of" in capsys.readouterr().out
    keys = [
        row["key"][0].decode()
        for split in SPLITS
        for row in read_examples(tmp_path / "once", split)
    ]
    assert sorted(keys) == sorted(KEYS)


def test_the_positive_class_is_the_second(tmp_path):
    """The examples keep their classes: a label is the index of its class."""
    labels = {}
    for positive in ("a", "b"):
        source = write_table(tmp_path / f"source-{positive}", small(), SMALL, positive=positive)
        out = tmp_path / positive
        run(source, out)
        description = dataset_description.load(str(out))
        assert (description.classes[1], description.positive) == (positive, positive)
        labels[positive] = {
            example["key"][0]: description.classes[example["label"][0]]
            for split in ("train", "validation", "test")
            for example in read_examples(out, split)
        }
    assert len(labels["a"]) == ROWS
    assert labels["a"] == labels["b"]


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


@pytest.mark.slow
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


def test_weights_arrive_with_their_sums_by_class(tmp_path):
    weights = [n / 10 for n in range(ROWS)]
    table, weight = small(example_weight=weights), {"name": "sampled"}
    source = write_table(tmp_path / "source", table, SMALL, weight=weight)
    assert run(source, tmp_path / "dataset") == 0
    description = dataset_description.load(str(tmp_path / "dataset"))
    assert [feature.name for feature in description.features] == ["the x", "s"]
    for name in SPLITS:
        for example in read_examples(tmp_path / "dataset", name):
            place = KEYS.index(example["key"][0].decode())
            assert example["weight"] == pytest.approx([weights[place]])
    train = [n for n, split in enumerate(split_of(KEYS)) if split == "train"]
    found = description.weight
    assert found.column == "sampled"
    assert found.statistics.mean == pytest.approx(np.mean([weights[n] for n in train]))
    assert found.classes == pytest.approx(
        {name: sum(weights[n] for n in train if table["label"][n] == name) for name in "ab"}
    )
    squares = sum(weights[n] ** 2 for n in train)
    assert found.effective == pytest.approx(sum(weights[n] for n in train) ** 2 / squares)

"""Predictions of services become predictions in the split's order; faults are reported."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.withheld import refuses
from trainer.comparison import raw_predictions
from trainer.comparison.held_out_split import HeldOutSplit, HeldOutSplitError
from trainer.prediction_checks import PredictionsError

KEYS = np.array(["a", "b", "c"], dtype=object)
LABELS = np.array([0, 1, 1])
CLASSES = ("false", "true")
SPLIT = HeldOutSplit(KEYS, LABELS, CLASSES, records=())
NUMBERS = HeldOutSplit(KEYS, np.array([1.0, 2.0, 3.0]), (), records=(), family="regression")


def pairs(*shares, names=CLASSES):
    return [{"label": name, "prob": share} for name, share in zip(names, shares, strict=True)]


def parquet(folder, keys=("c", "a", "b"), rows=None, name="0.parquet", **columns):
    folder.mkdir(parents=True, exist_ok=True)
    if not columns:
        columns = {"probabilities": rows or [pairs(0.2, 0.8), pairs(0.9, 0.1), pairs(0.4, 0.6)]}
    pq.write_table(pa.table({"key": list(keys), **columns}), folder / name)
    return folder


def test_probabilities_are_put_in_the_order_of_keys_and_classes(tmp_path):
    turned = pairs(0.1, 0.9, names=("true", "false"))
    rows = [pairs(0.2, 0.8), turned, pairs(0.4, 0.6)]
    found = raw_predictions.read(parquet(tmp_path, rows=rows), SPLIT)
    assert found.keys.tolist() == ["a", "b", "c"]
    assert found.labels.tolist() == [0, 1, 1]
    assert found.probabilities == pytest.approx(np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]))
    assert found.classes == CLASSES


def test_a_class_that_the_service_never_saw_has_probability_0(tmp_path):
    split = HeldOutSplit(KEYS, LABELS, ("false", "true", "unsure"), records=())
    found = raw_predictions.read(parquet(tmp_path), split)
    assert found.probabilities[:, 2].tolist() == [0, 0, 0]


def test_several_files_are_one(tmp_path):
    parquet(tmp_path / "x", ["b"], [pairs(0.4, 0.6)], name="1.parquet")
    parquet(tmp_path / "y", ["c", "a"], [pairs(0.2, 0.8), pairs(0.9, 0.1)])
    assert raw_predictions.read(tmp_path, SPLIT).keys.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("element", ["item", "element"])
def test_lists_without_annotation_are_lists_all_the_same(tmp_path, element):
    rows = [
        {"list": [{element: pair} for pair in row]}
        for row in (pairs(0.2, 0.8), pairs(0.9, 0.1), pairs(0.4, 0.6))
    ]
    found = raw_predictions.read(parquet(tmp_path, rows=rows), SPLIT)
    assert found.probabilities[0].tolist() == pytest.approx([0.9, 0.1])


def test_predictions_of_a_regression_are_values(tmp_path):
    found = raw_predictions.read(parquet(tmp_path, prediction=[3.5, 1.5, 2.5]), NUMBERS)
    assert found.values.tolist() == [1.5, 2.5, 3.5]
    assert found.labels.tolist() == [1, 2, 3]


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), classes=st.integers(2, 8))
@settings(max_examples=25)
def test_any_order_of_rows_and_classes_gives_the_same(tmp_path_factory, seed, n, classes):
    random = np.random.default_rng(seed)
    keys = np.array(sorted(f"k{i}" for i in range(n)), dtype=object)
    names = tuple(f"klasse {i}" for i in range(classes))
    split = HeldOutSplit(keys, random.integers(0, classes, n), names, records=())
    shares = random.dirichlet(np.ones(classes), n)
    rows = [
        [{"label": names[c], "prob": shares[i, c]} for c in random.permutation(classes)]
        for i in range(n)
    ]
    order = random.permutation(n)
    folder = parquet(tmp_path_factory.mktemp("raw"), keys[order], [rows[i] for i in order])
    found = raw_predictions.read(folder, split)
    assert found.keys.tolist() == keys.tolist()
    assert found.probabilities == pytest.approx(shares, abs=1e-6)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"rows": [pairs(0.2, 0.8, names=("false", "maybe")), pairs(0.9, 0.1), pairs(0, 1)]},
            r"'maybe'.*'false', 'true'",
        ),
        ({"keys": ("a", "b", "b")}, r"1 of 2.*'b'"),
        (
            {"rows": [pairs(0.2, 0.7), pairs(0.9, 0.1), pairs(0, 1)]},
            r"1 of 3.*'c'.*'c'.*0\.9000",
        ),
        ({"rows": [pairs(np.nan, 1), pairs(0.9, 0.1), pairs(0, 1)]}, "NaN or infinity.*'c'"),
        ({"rows": [pairs(-0.2, 1.2), pairs(0.9, 0.1), pairs(0, 1)]}, r"outside \[0, 1\].*'c'"),
        ({"keys": ("a", None, "c")}, r"column 'key' is NULL in 1 of 3 rows"),
        ({"other": [1, 2, 3]}, "no column of probabilities, and none for .* 'key', 'other'"),
        ({"probabilities": [0.1, 0.2, 0.3]}, "'probabilities' is double, not a list"),
        ({"probabilities": [[0.1], [0.2], [0.3]]}, "not a list of"),
    ],
)
def test_what_is_wrong_is_reported(tmp_path, changed, message):
    with refuses(PredictionsError, match=message):
        raw_predictions.read(parquet(tmp_path, **changed), SPLIT)


def test_other_keys_are_listed(tmp_path):
    folder = parquet(tmp_path, keys=("a", "b", "x"))
    with refuses(HeldOutSplitError, match=r"'c'.*'x'"):
        raw_predictions.read(folder, SPLIT)


def test_a_value_that_is_no_number_is_refused(tmp_path):
    with refuses(PredictionsError, match=r"NaN or infinite.*'c'"):
        raw_predictions.read(parquet(tmp_path, prediction=[np.inf, 1, 2]), NUMBERS)


def test_nothing_there_is_reported(tmp_path):
    with refuses(PredictionsError, match=r"no predictions: there is no \.parquet or \.jsonl"):
        raw_predictions.read(tmp_path / "raw", SPLIT)


def jsonl(folder, *lines):
    (folder / "prediction-digits").mkdir(parents=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "prediction-digits" / "predictions_00001.jsonl").write_text(text)
    return folder


def image(key, *shares, names=CLASSES):
    return {
        "instance": {"content": f"gs://bucket/{key}", "mimeType": "image/png"},
        "prediction": {"ids": ["1", "2"], "displayNames": names, "confidences": shares},
    }


IMAGES = dataclasses.replace(SPLIT, addresses=tuple(f"gs://bucket/{key}.png" for key in KEYS))


def test_images_are_known_by_their_addresses(tmp_path):
    turned = image("b.png", 0.6, 0.4, names=("true", "false"))
    folder = jsonl(tmp_path, image("c.png", 0.2, 0.8), turned, image("a.png", 0.9, 0.1))
    found = raw_predictions.read(folder, IMAGES)
    assert found.probabilities == pytest.approx(np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]))


def test_examples_of_the_same_image_have_its_prediction(tmp_path):
    same = dataclasses.replace(SPLIT, addresses=("gs://bucket/x", "gs://bucket/y", "gs://bucket/x"))
    folder = jsonl(tmp_path, image("y", 0.9, 0.1), image("x", 0.3, 0.7))
    found = raw_predictions.read(folder, same)
    assert found.probabilities[:, 1] == pytest.approx([0.7, 0.1, 0.7])


def test_an_image_that_is_no_examples_is_named(tmp_path):
    folder = jsonl(tmp_path, image("a.png", 0.9, 0.1), image("z.png", 0.3, 0.7))
    with refuses(HeldOutSplitError, match="2 missing: 'b', 'c'; 1 not in .*: 'gs://bucket/z.png'"):
        raw_predictions.read(folder, IMAGES)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"instance": {"content": "s3://b/a"}, "prediction": {}}, r"predictions_00001.jsonl, line"),
        ({"prediction": {}}, "line 1 is not an image's prediction: KeyError"),
        (
            {"instance": {"content": "gs://bucket/a"}, "error": {"message": "Cannot decode"}},
            "could not predict gs://bucket/a: Cannot decode",
        ),
        (image("a.png", 0.4, 0.4), "as where a service leaves classes out"),
    ],
)
def test_lines_that_are_no_predictions_are_named(tmp_path, line, message):
    folder = jsonl(tmp_path, line, image("b.png", 0.4, 0.6), image("c.png", 0.4, 0.6))
    with refuses(PredictionsError, match=message):
        raw_predictions.read(folder, IMAGES)

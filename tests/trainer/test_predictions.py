"""predictions.parquet comes back as it was written; what cannot be scored is refused by name."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.withheld import refuses
from trainer import predictions
from trainer.metrics.decision import Threshold
from trainer.prediction_checks import PredictionsError
from trainer.prediction_forms.classification import Predictions
from trainer.prediction_forms.multilabel_classification import LabelSets
from trainer.prediction_forms.regression import Values
from trainer.prediction_forms.segmentation import Masks


def some_predictions(**changed):
    fields = {
        "keys": ["a.png", "b.png", "c.png"],
        "labels": [0, 1, 1],
        "probabilities": [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]],
        "classes": ["benign", "malignant"],
    }
    return Predictions(**(fields | changed))


def test_written_predictions_come_back(tmp_path):
    written = some_predictions()
    predictions.write(tmp_path / "predictions.parquet", written)
    read = predictions.read(tmp_path / "predictions.parquet")
    assert read.keys.tolist() == ["a.png", "b.png", "c.png"]
    assert read.labels.tolist() == [0, 1, 1]
    assert np.array_equal(read.probabilities, written.probabilities)
    assert read.classes == ("benign", "malignant")


def test_a_threshold_comes_back_and_a_file_without_one_has_none(tmp_path):
    path, threshold = tmp_path / "predictions.parquet", Threshold(float(np.float32(0.1)))
    predictions.write(path, some_predictions())
    assert predictions.read(path).threshold is None
    predictions.write(path, some_predictions(threshold=threshold))
    assert predictions.read(path).threshold == threshold
    with refuses(PredictionsError, match="a threshold between 3 classes"):
        some_predictions(
            probabilities=np.full((3, 3), 1 / 3), classes=["a", "b", "c"], threshold=threshold
        )


def test_a_threshold_for_a_class_that_is_not_there_is_refused(tmp_path):
    path = tmp_path / "predictions.parquet"
    predictions.write(path, some_predictions(threshold=Threshold(0.25)))
    table = pq.read_table(path)
    told = json.dumps({"class": "ill", "above": 0.25})
    pq.write_table(
        table.replace_schema_metadata({**table.schema.metadata, b"threshold": told}), path
    )
    with refuses(PredictionsError, match=r"0\.25 for 'ill'; .* are 'benign', 'malignant'"):
        predictions.read(path)


@given(
    keys=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, unique=True
    ),
    classes=st.integers(2, 20),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_keys_and_number_of_classes_come_back(tmp_path_factory, keys, classes, seed):
    random = np.random.default_rng(seed)
    written = Predictions(
        keys=keys,
        labels=random.integers(0, classes, len(keys)),
        probabilities=random.dirichlet(np.ones(classes), len(keys)),
        classes=[f"classe n° {i}" for i in range(classes)],
    )
    path = tmp_path_factory.mktemp("predictions") / "predictions.parquet"
    predictions.write(path, written)
    read = predictions.read(path)
    assert read.keys.tolist() == keys
    assert np.array_equal(read.labels, written.labels)
    assert np.array_equal(read.probabilities, written.probabilities)
    assert read.classes == written.classes


def test_the_file_has_the_documented_schema(tmp_path):
    predictions.write(tmp_path / "predictions.parquet", some_predictions())
    schema = pq.read_schema(tmp_path / "predictions.parquet")
    assert schema.field("key").type == pa.string()
    assert schema.field("label").type == pa.int32()
    assert schema.field("probabilities").type == pa.list_(pa.float32())
    assert json.loads(schema.metadata[b"classes"]) == ["benign", "malignant"]


def test_the_file_may_say_what_it_was_made_from(tmp_path):
    path = tmp_path / "predictions.parquet"
    predictions.write(path, some_predictions(), {"model": "m@3"})
    assert predictions.origin(path) == {"model": "m@3"}
    assert predictions.read(path).classes == ("benign", "malignant")
    predictions.write(path, some_predictions())
    assert predictions.origin(path) is None
    path.write_bytes(b"PAR1")
    with refuses(PredictionsError, match="not a readable Parquet file"):
        predictions.origin(path)


def test_keys_in_bytes_are_text():
    assert some_predictions(keys=[b"a", b"b", "é".encode()]).keys.tolist() == ["a", "b", "é"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"keys": ["a", "b", "b"]}, "key appears more than once: 1 row.*'b'"),
        ({"labels": [0, 2, 1]}, r"label is not a class index in 0\.\.1: 1 row.*'b.png'"),
        ({"probabilities": [[0.9, 0.1], [np.nan, 1], [1, 0]]}, "NaN or infinity.*'b.png'"),
        ({"probabilities": [[0.9, 0.1], [-0.2, 1.2], [1, 0]]}, r"outside \[0, 1\].*'b.png'"),
        ({"probabilities": [[0.9, 0.1], [0, 0.5], [1, 0]]}, "do not sum to 1.*'b.png'"),
        ({"probabilities": [[0.9, 0.1]]}, "shapes do not fit"),
        ({"classes": ["one"], "probabilities": [[1], [1], [1]]}, "at least 2"),
        ({"keys": [], "labels": [], "probabilities": np.zeros((0, 2))}, "must not be empty"),
    ],
)
def test_what_cannot_be_scored_is_refused(changed, message):
    with refuses(PredictionsError, match=message):
        some_predictions(**changed)


SCHEMA = pa.schema(
    {"key": pa.string(), "label": pa.int32(), "probabilities": pa.list_(pa.float32())},
    {"schema": "1", "classes": '["x", "y"]'},
)


def test_rows_with_another_number_of_probabilities_are_refused(tmp_path):
    table = pa.table(
        {"key": ["a", "b"], "label": [0, 1], "probabilities": [[0.5, 0.5], [1.0]]}, SCHEMA
    )
    pq.write_table(table, tmp_path / "p.parquet")
    with refuses(PredictionsError, match=r"not exactly 2 numbers, one per class.*'b'"):
        predictions.read(tmp_path / "p.parquet")


def test_a_missing_column_is_named(tmp_path):
    table = pa.table({"key": ["a"]}, metadata={"schema": "1", "classes": '["x", "y"]'})
    pq.write_table(table, tmp_path / "p.parquet")
    with refuses(PredictionsError, match="columns key string; expected key string, label int32"):
        predictions.read(tmp_path / "p.parquet")


def test_a_null_is_refused(tmp_path):
    table = pa.table(
        {"key": ["a", None], "label": [0, 1], "probabilities": [[0.5, 0.5], [1.0, 0.0]]}, SCHEMA
    )
    pq.write_table(table, tmp_path / "p.parquet")
    with refuses(PredictionsError, match="column 'key' is NULL in 1 of 2 rows"):
        predictions.read(tmp_path / "p.parquet")


def test_another_schema_version_is_refused(tmp_path):
    pq.write_table(pa.table({"key": ["a"]}), tmp_path / "p.parquet")
    with refuses(PredictionsError, match="metadata: the key 'schema' is missing"):
        predictions.read(tmp_path / "p.parquet")


def test_a_truncated_file_is_refused(tmp_path):
    predictions.write(tmp_path / "p.parquet", some_predictions())
    whole = (tmp_path / "p.parquet").read_bytes()
    (tmp_path / "p.parquet").write_bytes(whole[: len(whole) // 2])
    with refuses(PredictionsError, match="not a readable Parquet file"):
        predictions.read(tmp_path / "p.parquet")


def test_a_missing_file_stays_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        predictions.read(tmp_path / "none.parquet")


def some_values(**changed):
    fields = {"keys": ["a", "b", "c"], "labels": [1.5, -2.0, 1e9], "values": [1.25, 0.0, 9e8]}
    return Values(**(fields | changed))


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])), st.tuples(finite, finite), min_size=1
    )
)
def test_any_values_of_a_regression_come_back(tmp_path_factory, rows):
    labels, values = zip(*rows.values(), strict=True)
    path = tmp_path_factory.mktemp("values") / "predictions.parquet"
    predictions.write(path, Values(list(rows), labels, values))
    read = predictions.read(path)
    assert isinstance(read, Values)
    assert read.keys.tolist() == list(rows)
    assert read.labels.tolist() == list(labels)
    assert read.values.tolist() == list(values)


def test_a_regressions_file_has_the_documented_schema(tmp_path):
    predictions.write(tmp_path / "predictions.parquet", some_values())
    schema = pq.read_schema(tmp_path / "predictions.parquet")
    assert [(field.name, field.type) for field in schema] == [
        ("key", pa.string()),
        ("label", pa.float64()),
        ("value", pa.float64()),
    ]
    assert schema.metadata[b"task"] == b"regression"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"keys": ["a", "b", "b"]}, "key appears more than once: 1 row.*'b'"),
        ({"labels": [1, np.nan, 2]}, "label is NaN or infinite: 1 row.*'b'"),
        ({"values": [1, 2, np.inf]}, r"NaN.*'c'"),
        ({"values": [[1], [2], [3]]}, "shapes do not fit.*flatten"),
        ({"keys": [], "labels": [], "values": []}, "must not be empty"),
    ],
)
def test_values_that_cannot_be_scored_are_refused(changed, message):
    with refuses(PredictionsError, match=message):
        some_values(**changed)


def test_sets_of_classes_are_read_back_as_they_were(tmp_path):
    written = LabelSets(
        ["b", "a"], [5, 0], [[0.9, 0.2, 0.8], [0.1, 0.5, 0.2]], ("mass", "nodule", "effusion")
    )
    predictions.write(tmp_path / "p.parquet", written)
    found = predictions.read(tmp_path / "p.parquet")
    assert isinstance(found, LabelSets)
    assert (found.keys.tolist(), found.labels.tolist()) == (["b", "a"], [5, 0])
    assert found.classes == ("mass", "nodule", "effusion")
    np.testing.assert_array_equal(found.probabilities, written.probabilities)


@pytest.mark.parametrize(
    ("labels", "probabilities", "message"),
    [
        ([4], [[0.5, 0.5]], "label is not a set of the class indices 0..1"),
        ([-1], [[0.5, 0.5]], "label is not a set"),
        ([3], [[0.5, 1.5]], "a probability is outside [0, 1]"),
        ([3], [[0.5, np.nan]], "NaN or infinity"),
        ([3, 3], [[0.5, 0.5]], "shapes do not fit"),
    ],
)
def test_impossible_sets_are_refused(labels, probabilities, message):
    with pytest.raises(PredictionsError) as refused:
        LabelSets(["a"], labels, probabilities, ("mass", "nodule"))
    assert message in str(refused.value)


MASKS = {
    "keys": ["a", "b"],
    "labels": [[60, 4], [64, 0]],
    "predicted": [[58, 6], [64, 0]],
    "both": [[57, 3], [64, 0]],
    "distances": [[np.nan, 1.5], [np.nan, np.nan]],
    "classes": ("background", "cell"),
}


def test_masks_are_read_as_they_were_written(tmp_path):
    predictions.write(tmp_path / "p.parquet", Masks(**MASKS))
    found = predictions.read(tmp_path / "p.parquet")
    for name in MASKS:
        np.testing.assert_array_equal(getattr(found, name), getattr(Masks(**MASKS), name))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"both": [[57, 5], [64, 0]]}, "more pixels in both masks than in one.*'a'"),
        ({"predicted": [[58, 7], [64, 0]]}, "masks of different sizes.*'a'"),
        ({"distances": [[np.nan, -1.0], [np.nan] * 2]}, "a distance is negative or infinite.*'a'"),
        ({"labels": [[60, 4]]}, "shapes do not fit"),
        ({"classes": ("background",)}, "a mask has at least 2"),
    ],
)
def test_masks_that_no_images_have_are_refused(changed, message):
    with refuses(PredictionsError, match=message):
        Masks(**MASKS | changed)

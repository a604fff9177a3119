"""What a file's `fit` and `predict` get: the same of a stored record and of a request."""

import base64
import json

import cv2
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.tables import mixed_rows, pictured_rows, write_table
from trainer import dataset_description, stored
from trainer.comparison.raw_examples import time_text
from trainer.estimators import batch
from trainer.serving.columns import column
from trainer.serving.file_model import _field
from trainer.serving.rows import RowReader
from trellis_contracts.dataset_features import IMAGE, TIMESTAMP, Feature, TermStatistics

FILES = {"train": [60], "validation": [20], "test": [20]}


def both(address, columns):
    """The batch of the test split's records, and that of requests for the same rows."""
    dataset = dataset_description.load(address)
    (found,) = stored.batches(address, dataset, "test", 100)
    reader = RowReader([_field(feature) for feature in dataset.features])

    def value(kind, given):
        if kind == TIMESTAMP and given is not None:
            return time_text(given)
        if kind == IMAGE:
            return {"b64": base64.b64encode(cv2.imencode(".png", given)[1]).decode()}
        return given

    instances = [
        {name: value(kind, values[int(key)]) for name, (kind, values) in columns.items()}
        for key in found.keys
    ]
    rows = reader.read(json.dumps({"instances": instances}).encode()).instances
    values = zip(*(reader.decoded(row).values for row in rows), strict=True)
    raw = {
        field.input: column(field.kind, each)
        for field, each in zip(reader.fields, values, strict=True)
    }
    asked = batch.RawRows(dataset.features).batch(raw)
    return batch.of_stored(found, dataset.features), asked


@pytest.fixture(scope="module", params=[0, 1, 2])
def mixed(request, tmp_path_factory):
    columns, labels = mixed_rows(100, request.param)
    folder = tmp_path_factory.mktemp("rows") / "rows"
    return both(write_table(folder, columns, labels, files=FILES, vocabulary=5), columns)


def test_frames_of_records_and_of_requests_are_equal(mixed):
    of_records, of_requests = (one.pandas() for one in mixed)
    pd.testing.assert_frame_equal(of_records, of_requests)
    kinds = of_records.dtypes.astype(str)
    assert (kinds["size"], kinds["smoker"], kinds["site"]) == ("float32", "float32", "category")
    assert kinds["taken"] == "datetime64[us, UTC]"
    assert of_records["note"].map(type).eq(str).all()


def test_tables_and_arrays_are_equal_too(mixed):
    of_records, of_requests = mixed
    assert of_records.arrow().equals(of_requests.arrow())
    np.testing.assert_array_equal(of_records.numpy(), of_requests.numpy())


def test_forms_of_one_batch_agree(mixed):
    """A missing value is missing in each; a time is as many seconds."""
    one, _ = mixed
    frame, table, numbers = one.pandas(), one.arrow(), one.numpy()
    assert table.column_names == list(frame) == one.names
    named = [f.name for f in one.features if batch.is_number(f)]
    for place, name in enumerate(named):
        missing = np.isnan(numbers[:, place])
        assert (frame[name].isna() == missing).all()
        assert table[name].null_count == missing.sum()
    taken = frame["taken"].astype("int64") / 1e6
    np.testing.assert_allclose(
        numbers[:, named.index("taken")][frame["taken"].notna()], taken[frame["taken"].notna()]
    )


def test_images_of_records_and_of_requests_are_equal(tmp_path):
    columns, labels = pictured_rows(100)
    of_records, of_requests = both(
        write_table(tmp_path / "rows", columns, labels, files=FILES), columns
    )
    np.testing.assert_array_equal(of_records.images(), of_requests.images())
    assert of_records.images().shape[0] == 20
    with pytest.raises(KeyError, match="there is no image 'other'"):
        of_records.images("other")


@given(st.lists(st.sampled_from(["(unknown)", "((unknown))", "a", "b"]), min_size=1, unique=True))
def test_what_stands_for_unknown_terms_is_none_of_the_terms(terms):
    known = TermStatistics(len(terms), 0, 0, (1,) * len(terms))
    feature = Feature("site", "categorical", "int64", None, (), "site", 0, tuple(terms), known)
    codes = np.arange(len(terms) + 2)
    frame = batch.Batch([feature], {"site": codes}).pandas()["site"]
    assert frame.isna().tolist() == [True] + [False] * (len(terms) + 1)
    assert frame[1] not in terms
    assert frame[2:].tolist() == terms
    numbers = batch.Batch([feature], {"site": codes}).numpy()[:, 0]
    assert numbers[1:].tolist() == [-1, *range(len(terms))]

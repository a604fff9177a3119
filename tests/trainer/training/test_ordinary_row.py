import dataclasses
import datetime
import math

import numpy as np
import pytest

from tests.trainer.table_run import categorical, numeric, statistics
from trainer.training.ordinary_row import ordinary_row
from trellis_contracts.dataset import DatasetDescription, Split
from trellis_contracts.dataset_features import NULL_TIMESTAMP, Feature, Statistics

NOTHING = Statistics(0, 5, 0.0, 0.0, 0.0, 0.0, (0.0,) * 21)


def sequence(known):
    return Feature("pulse", "sequence", "float32", shape=(None,), column="pulse", statistics=known)


def ordinary(*features):
    dataset = DatasetDescription(
        fingerprint="f00d",
        source={},
        split=Split("column ML_USE"),
        features=features,
        classes=("no", "yes"),
        counts={},
        files={},
        rejected=0,
        task="binary_classification",
    )
    return [np.asarray(value).tolist() for value in ordinary_row(dataset)]


def test_what_is_ordinary_in_the_train_split():
    noon = datetime.datetime(2024, 2, 29, 12, 0, 0, 250000, datetime.UTC)
    known = statistics([1.0, 2.0], min_length=0, max_length=9, mean_length=2.6)
    assert ordinary(
        numeric("radius", [1.0, 2.0, 6.0]),
        numeric("smoker", [0, 0, 1], kind="boolean"),
        numeric("adult", [0, 1, 1], kind="boolean"),
        categorical("site", {"left": 3, "right": 5}),
        numeric("taken", np.array([1709164800, 1709251200.5]), kind="timestamp"),
        sequence(known),
    ) == [3.0, 0.0, 1.0, b"right", noon.timestamp() * 1e6, [1.5, 1.5, 1.5]]


@pytest.mark.parametrize("kind", ["numeric", "boolean"])
def test_of_a_feature_without_values_null_is_ordinary(kind):
    unknown = dataclasses.replace(numeric("x", [1.0], kind=kind), statistics=NOTHING)
    (number,) = ordinary(unknown)
    assert math.isnan(number)


def test_of_times_terms_and_sequences_without_values_too():
    unknown = dataclasses.replace(numeric("x", [1.0], kind="timestamp"), statistics=NOTHING)
    none = dataclasses.replace(NOTHING, min_length=0, max_length=0, mean_length=0.0)
    assert ordinary(unknown, categorical("site", {}, missing=5), sequence(none)) == [
        NULL_TIMESTAMP,
        b"\xff",
        [],
    ]

"""Pairs of categories in the linear part of the wide and deep model."""

import dataclasses

import numpy as np
import pytest

from trainer import models
from trainer.models import ModelError
from trainer.models.wide_and_deep import Crosses
from trainer.training import sample
from trellis_contracts.dataset_features import CATEGORICAL, Feature, TermStatistics
from trellis_contracts.hyperparameters import Hyperparameters


def categories(columns):
    """A dataset of this many categorical features with two terms each."""
    features = tuple(
        Feature(
            f"c{index}", CATEGORICAL, "int64", column=f"c{index}", index=index,
            vocabulary=("a", "b"), statistics=TermStatistics(9, 0, 0, (5, 4)),
        )
        for index in range(columns)
    )  # fmt: skip
    table = sample.rows("binary_classification", 2)
    return dataclasses.replace(table, features=features)


def test_each_pair_of_columns_has_weights_of_its_own():
    places = Crosses(columns=4, buckets=50, outputs=1).places(np.zeros((3, 4), np.int64)).numpy()
    assert places.shape == (3, 6)
    assert (places[0] // 50).tolist() == [0, 1, 2, 3, 4, 5]


def test_values_are_spread_evenly_over_the_buckets():
    """Also where the number of values divides that of the buckets: 100 x 100 values into 100."""
    ids = np.stack(np.meshgrid(np.arange(100), np.arange(100)), -1).reshape(-1, 2)
    places = Crosses(columns=2, buckets=100, outputs=1).places(ids).numpy()[:, 0]
    counts = np.bincount(places, minlength=100)
    # Chi-squared of 99 degrees of freedom: below 150 with a probability of 0.999.
    assert ((counts - 100) ** 2 / 100).sum() < 150
    first = Crosses(columns=2, buckets=100, outputs=1).places(ids[ids[:, 0] == 0]).numpy()
    assert len(np.unique(first)) > 50


def test_the_order_of_two_values_counts():
    crosses = Crosses(columns=2, buckets=100_000, outputs=1)
    forth, back = crosses.places(np.array([[3, 7], [7, 3]])).numpy()
    assert forth != back


def test_a_combination_has_a_weight_that_its_parts_do_not_have():
    """Exclusive or, which no sum of single weights can tell, is one step of the wide part away."""
    h = Hyperparameters(cross_buckets=1000)
    model = models.build("wide_and_deep", categories(2), h)
    ids = np.array([[2, 2], [2, 3], [3, 2], [3, 3]])
    before = model({"categorical": ids}).numpy()
    crosses = next(layer for layer in model.layers if isinstance(layer, Crosses))
    weights = np.zeros((1000, 2), np.float32)
    for row in crosses.places(ids[[1, 2]]).numpy()[:, 0]:
        weights[row, 1] = 5
    crosses.set_weights([weights])
    change = model({"categorical": ids}).numpy() - before
    np.testing.assert_allclose(change[:, 1], [0, 5, 5, 0], atol=1e-6)


@pytest.mark.parametrize(("columns", "buckets"), [(1, 1000), (5, 0)])
def test_without_pairs_there_is_no_table(columns, buckets):
    h = Hyperparameters(cross_buckets=buckets)
    model = models.build("wide_and_deep", categories(columns), h)
    assert not any(isinstance(layer, Crosses) for layer in model.layers)


def test_too_many_pairs_are_refused():
    with pytest.raises(ModelError, match=r"50 categorical features make 1,225 pairs"):
        models.build("wide_and_deep", categories(50), Hyperparameters())

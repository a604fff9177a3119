"""Sets of classes as one number."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trainer import label_sets
from trellis_contracts.tasks import MULTILABEL_MAX_CLASSES

CLASSES = ("effusion", "mass", "nodule")


@given(st.lists(st.sets(st.integers(0, MULTILABEL_MAX_CLASSES - 1)), max_size=20))
def test_a_set_is_read_back_as_it_was(sets):
    labels = np.array([label_sets.of(one) for one in sets], np.int64)
    found = label_sets.members(labels, MULTILABEL_MAX_CLASSES)
    assert [set(np.flatnonzero(row).tolist()) for row in found] == sets


def test_a_set_is_told_by_the_names_of_its_classes():
    assert label_sets.text(label_sets.of([2, 0]), CLASSES) == "effusion, nodule"
    assert label_sets.text(0, CLASSES) == "none"

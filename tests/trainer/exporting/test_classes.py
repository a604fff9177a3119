"""The order of classes, which gives them their indices."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.exporting import ExportError
from trainer.exporting.classes import in_order
from trellis_contracts.tasks import natural_order
from trellis_contracts.withheld import shown


@given(st.lists(st.text(st.sampled_from("019abé"))), st.randoms())
def test_the_order_of_classes_is_total(names, random):
    in_order = sorted(names, key=natural_order)
    random.shuffle(names)
    assert sorted(names, key=natural_order) == in_order


@pytest.mark.parametrize(
    ("names", "second"),
    [
        (("yes", "no"), "yes"),
        (("1", "0"), "1"),
        (("true", "false"), "true"),
        (("malignant", "benign"), "malignant"),
        (("10", "9"), "10"),
    ],
)
def test_of_two_classes_the_positive_one_is_the_second(names, second):
    assert in_order(names, None)[1] == second
    for positive in names:
        assert in_order(names, positive)[1] == positive
        assert set(in_order(names, positive)) == set(names)


@pytest.mark.parametrize("names", [("ill", "well"), ("ill", "sick", "well"), ("sick",)])
def test_a_positive_class_is_one_of_two(names):
    with pytest.raises(ExportError) as refused:
        in_order(names, "sick")
    assert all(repr(name) in shown(refused.value.text) for name in ("sick", *names))

"""The order of classes, which gives them their indices."""

from hypothesis import given
from hypothesis import strategies as st

from trainer.exporting.classes import natural_order


@given(st.lists(st.text(st.sampled_from("019abé"))), st.randoms())
def test_the_order_of_classes_is_total(names, random):
    in_order = sorted(names, key=natural_order)
    random.shuffle(names)
    assert sorted(names, key=natural_order) == in_order

from types import SimpleNamespace

import numpy as np
import pytest

from tests.wording import says
from trainer.serving import explaining
from trainer.serving.errors import InvalidRequestError
from trainer.serving.image_explanations import PixelExplainer
from trainer.serving.images import EncodedImage, ImageInput
from trainer.serving.limits import MAX_EXPLAINING_COST
from trainer.serving.parameters import Explain
from trainer.serving.row_explanations import RowExplainer
from trainer.serving.rows import Field, Row, RowReader

IMAGE = Row((EncodedImage(b"", 1),))


def rows(columns):
    """A model of rows of numbers, whose value is their sum."""
    fields = [Field(f"x{n}", "numeric", f"x{n}", 0, f"x{n}") for n in range(columns)]
    ordinary = {field.input: np.zeros(1) for field in fields}
    explainer = RowExplainer(lambda **x: {"value": sum(x.values())}, RowReader(fields), ordinary)
    return SimpleNamespace(classes=[], explainer=explainer)


def images(size):
    field = Field("image", "image", "image", 0, "image", ImageInput((size, size, 3)))
    reader, pixels = RowReader([field]), [PixelExplainer(lambda **_: {}, field)]
    explainer = RowExplainer(lambda **_: {}, reader, {"image": reader.nulls().values}, pixels)
    return SimpleNamespace(classes=["dark", "light"], explainer=explainer)


def refusal(model, examples, **how):
    with pytest.raises(InvalidRequestError) as refused:
        explaining.check(model, Explain(**how), examples)
    return str(refused.value)


def test_what_is_explained_of_a_sum_is_each_summand():
    model, row = rows(3), Row((1.0, 2.0, -4.0))
    explaining.check(model, Explain(), [row])
    (unexplained,) = explaining.of(model, Explain(), [row], [{"value": -1.0}])
    assert unexplained.explain() == {
        "score": -1,
        "baseline_score": 0,
        "attributions": {"x0": 1, "x1": 2, "x2": -4},
        "approximation_error": 0,
    }


def test_the_predicted_class_is_explained_unless_another_one_is_asked_for():
    model, predictions = images(8), [{"label": "dark"}, {"label": "light"}]
    asked = [
        explaining.of(model, Explain(label), [IMAGE, IMAGE], predictions)
        for label in (None, "dark")
    ]
    assert [[(one.label, one.index) for one in some] for some in asked] == [
        [("dark", 0), ("light", 1)],
        [("dark", 0), ("dark", 0)],
    ]


def test_a_class_that_there_is_none_of():
    assert says(
        refusal(images(8), [IMAGE], label="red"), "parameters.explain.class", '"dark", "light"'
    )
    assert "predicts a value, and has no classes" in refusal(rows(3), [], label="1")


def test_too_much_work_is_refused_with_the_figures():
    model, row = rows(300), Row((0.0,) * 300)
    explaining.check(model, Explain(), [row] * 18)
    assert says(
        refusal(model, [row] * 19), "parameters.explain", "17.1 million", "16.8", "paths", "fewer"
    )
    explaining.check(model, Explain(paths=4), [row] * 40)
    explaining.check(images(224), Explain(steps=80), [IMAGE])
    assert says(refusal(images(224), [IMAGE, IMAGE]), "20.3 million", "16.8", "steps")


def test_a_sequence_is_more_work_than_as_many_columns():
    fields = [Field("series", "sequence", "series", 100, "series")]
    explainer = RowExplainer(lambda **_: {}, RowReader(fields), {"series": np.zeros((1, 40))})
    short, long = [explainer.work(Row(([0.0] * n,)), Explain()) for n in (2, 100)]
    numbers = rows(1).explainer.work(Row((0.0,)), Explain())
    assert (short, long) == (40 * 16 * numbers, 100 * 16 * numbers)


def test_the_largest_request_may_wait():
    model, row = rows(300), Row((0.0,) * 300)
    waiting = explaining.of(model, Explain(), [row] * 18, [{"value": 0.0}] * 18)
    assert 0.9 * MAX_EXPLAINING_COST < sum(one.cost for one in waiting) <= MAX_EXPLAINING_COST


def test_what_fails_is_returned():
    model, row = rows(1), Row((float("nan"),))
    (unexplained,) = explaining.of(model, Explain(), [row], [{"value": 0.0}])
    assert "cannot be explained" in str(unexplained.explain())

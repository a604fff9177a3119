"""Answers of Google's services in the form of our own server."""

import pytest

from trellis.workflow.stages.deploy import answers

TWO = {"label": "b", "probabilities": {"a": 0.25, "b": 0.75}}


@pytest.mark.parametrize(
    ("service", "answer", "expected"),
    [
        ("automl", {"classes": ["a", "b"], "scores": [0.25, 0.75]}, TWO),
        ("automl", {"ids": [], "displayNames": ["b", "a"], "confidences": [0.75, 0.25]}, TWO),
        ("automl", {"value": 3.5, "lower_bound": 1, "upper_bound": 9}, {"value": 3.5}),
        (
            "bqml",
            {"label_values": ["b", "a"], "label_probs": [0.75, 0.25], "predicted_label": ["b"]},
            TWO,
        ),
        ("bqml", {"predicted_label": [3.5]}, {"value": 3.5}),
        (None, TWO, TWO),
        # What is no answer of the service is told as it is.
        (
            "automl",
            {"classes": ["a"], "scores": [0.25, 0.75]},
            {"classes": ["a"], "scores": [0.25, 0.75]},
        ),
        ("bqml", "text", "text"),
    ],
)
def test_the_same_answer_in_our_form(service, answer, expected):
    assert answers.plain(service, answer) == expected

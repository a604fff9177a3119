"""Roles of columns exclude one another in whatever case their names are written."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from trellis.workflow.spec.source import TableSource
from trellis.workflow.validation.columns import problems

# Sources in which one column has two roles that exclude one another, or one role twice.
CLASHES = [
    {"label": "sample"},
    {"partition": "sample"},
    {"partition": "outcome"},
    {"features": ["age", "sample"]},
    {"features": ["age", "outcome"]},
    {"features": ["age", "age"]},
    {"categorical": ["outcome"]},
    {"text": ["sample"]},
    {"features": ["age", "city"], "categorical": ["ward"]},
    {"features": ["city"], "categorical": ["city"], "text": ["city"]},
    {"categorical": ["city", "city"]},
    {"weight": "sample"},
    {"weight": "outcome"},
    {"weight": "day", "partition": "day"},
    {"weight": "ward", "split": {"by": "ward"}},
    {"weight": "age", "features": ["age"]},
    {"weight": "city", "categorical": ["city"]},
    {"keep": ["sample"]},
    {"keep": ["outcome"]},
    {"keep": ["age"], "features": ["age"]},
    {"keep": ["city"], "text": ["city"]},
    {"keep": ["city", "city"]},
    {"keep": ["w"], "weight": "w"},
    {"split": {"by": "sample"}},
    {"split": {"by": "outcome"}},
    {"split": {"by": "ward"}, "features": ["ward"]},
    {"split": {"by": "ward"}, "text": ["ward"]},
    {"split": {"column": "fold"}, "features": ["fold"]},
    {"split": {"column": "outcome"}},
    {"split": {"stratify": "sample"}},
    {"split": {"time": "day", "validation": "2024-01-01", "test": "2024-02-01"},
     "partition": "day"},
]  # fmt: skip


def found(source):
    given_ = {"bigquery": "d.t", "key": "sample", "label": "outcome"} | source
    return sorted({problem.field for problem in problems(TableSource.model_validate(given_))})


def with_case(source, flips):
    """The source with each of its columns' names in another case, letter by letter."""

    def change(value):
        if isinstance(value, dict):
            return {k: v if k in ("validation", "test") else change(v) for k, v in value.items()}
        if isinstance(value, list):
            return [change(v) for v in value]
        return "".join(c.upper() if next(flips) else c for c in value)

    return change(source)


@given(st.sampled_from(CLASHES), st.lists(st.booleans(), min_size=1, max_size=40))
def test_the_case_of_a_name_changes_nothing(source, flips):
    assert found(source)
    assert found(with_case(source, itertools.cycle(flips))) == found(source)


def test_different_columns_do_not_exclude_one_another():
    several = {
        "features": ["age", "city", "note"],
        "categorical": ["CITY"],
        "text": ["Note"],
        "weight": "w",
        "partition": "day",
        "split": {"by": "ward"},
        "keep": ["sex", "ward", "day"],
    }
    assert found(several) == []

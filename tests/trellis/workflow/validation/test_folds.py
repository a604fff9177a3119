"""Keys that do not go with the folds of a cross-validation, each refused at its place."""

import pytest

from tests.wording import says
from trellis.workflow.spec.problems import FileError
from trellis.workflow.validation.file import with_changes

FOLDS = {
    ("train", "folds"): 5,
    ("source", "split"): None,
    ("baselines", "automl"): None,
    ("decision",): None,
}


@pytest.fixture
def plain(breast_cancer):
    """The demo's experiment without what folds cannot have."""
    return with_changes(breast_cancer, {("deploy",): None})


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        (
            {
                ("source", "split"): {
                    "time": "taken", "validation": "2024-02-01", "test": "2024-03-01",
                }
            },
            "source.split.time",
        ),
        ({("source", "split"): {"column": "part"}}, "source.split.column"),
        ({("source", "split"): {"train": 60, "validation": 20, "test": 20}}, "source.split.test"),
        ({("train", "seeds"): 3}, "train.seeds"),
        ({("train", "ensemble"): True, ("train", "top"): 2}, "train.ensemble"),
        ({("train", "start"): "champion"}, "train.start"),
        ({("reuse",): True}, "reuse"),
        ({("baselines", "automl"): {"node_hours": 1}}, "baselines.automl"),
        ({("baselines", "files"): {"mine": "gs://b/p.parquet"}}, "baselines.files"),
        ({("decision",): {"maximize": "f1"}}, "decision"),
        ({("abstain",): 0.1}, "abstain"),
        ({("coverage",): 0.9}, "coverage"),
        ({("train", "folds"): 20, ("train", "repeats"): 20, ("train", "top"): 3}, "train.folds"),
    ],
)  # fmt: skip
def test_what_does_not_go_with_folds_is_refused_by_name(plain, changes, place):
    with pytest.raises(FileError) as error:
        with_changes(plain, FOLDS | changes)
    assert place in [".".join(map(str, problem.field)) for problem in error.value.problems]


def test_the_reason_names_what_each_fold_would_have_of_its_own(plain):
    with pytest.raises(FileError) as error:
        with_changes(plain, FOLDS | {("decision",): {"maximize": "f1"}, ("coverage",): 0.9})
    told = {problem.field: problem.message for problem in error.value.problems}
    assert "has a threshold of its own" in told[("decision",)]
    assert says(told[("coverage",)], "limit", "of its own")


def test_repeats_need_folds(plain):
    with pytest.raises(FileError) as error:
        with_changes(plain, {("train", "repeats"): 2})
    assert [problem.field for problem in error.value.problems] == [("train", "repeats")]


def test_the_served_model_cannot_be_compared_over_folds(breast_cancer):
    with pytest.raises(FileError) as error:
        with_changes(breast_cancer, FOLDS)
    assert ("deploy", "gate", "tolerance") in [problem.field for problem in error.value.problems]


def test_a_plan_of_folds_is_read_again_as_it_was(plain):
    """The plan has no shares of the split, which have no effect beside folds."""
    crossed = with_changes(plain, FOLDS)
    again = with_changes(crossed, {})
    assert again.folds == crossed.folds
    assert again.configuration() == crossed.configuration()
    assert "test" not in crossed.configuration()["source"]["split"]

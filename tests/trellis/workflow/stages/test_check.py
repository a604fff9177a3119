"""Refusals of and warnings about the rows of a snapshot."""

import dataclasses

import pytest

from tests.wording import says
from trellis.workflow.contracts.table import Column, Feature, Table
from trellis.workflow.spec.split import ColumnSplit, GroupSplit, KeySplit
from trellis.workflow.stages.check import judge
from trellis.workflow.stages.data_checks import divided
from trellis_contracts.finding import Finding
from trellis_contracts.withheld import shown

RADIUS = {"name": "radius", "missing": 0, "train": 8, "not_a_number": 0, "infinite": 0}
CLASSES = [
    {"split": split, "label": label, "examples": 2}
    for split in ("train", "validation", "test")
    for label in ("b", "m")
]
GOOD = {
    "examples": 10,
    "keys_missing": 0,
    "keys_repeated": [],
    "labels_bad": 0,
    "labels_bad_keys": [],
    "splits": [{"split": s, "examples": 4} for s in ("train", "validation", "test")],
    "classes": CLASSES,
    "features": [RADIUS],
}


def table(regression=False):
    key, label = Column("id", "STRING"), Column("kind", "STRING")
    return Table(key, label, None, [Feature("radius", "radius", "FLOAT64", "numeric")], regression)


def judged(task="binary_classification", **changes):
    return whole(judge(GOOD | changes, table(), task, KeySplit()))


def whole(found):
    """Show the problems and warnings with what they quote of rows."""
    return tuple([shown(text) for text in texts] for texts in found)


def feature(**changes):
    return {"features": [RADIUS | changes]}


def test_good_rows_pass():
    assert judged() == ([], [])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"examples": 0}, "there are none"),
        ({"keys_missing": 1}, "key 'id' is NULL or empty in 1 row"),
        (
            {"keys_repeated": [{"value": "a1", "examples": 2}, {"value": "é", "examples": 3}]},
            ("'id'", "'a1'", "'é'"),
        ),
        (
            {"labels_bad": 7, "labels_bad_keys": ["a1", "a2"]},
            ("'kind'", "NULL", "'a1', 'a2'"),
        ),
        ({"classes": [c for c in CLASSES if c["label"] == "m"]}, "constant, 'm' in every row"),
        (
            {"classes": [*CLASSES, {"split": "train", "label": "x", "examples": 1}]},
            ("'b', 'm', 'x'", "binary_classification"),
        ),
        (
            {"classes": [c for c in CLASSES if (c["split"], c["label"]) != ("train", "m")]},
            "no example of 'm' is in the train split",
        ),
        ({"classes": [c for c in CLASSES if c["split"] != "test"]}, "the test split is empty"),
        (feature(missing=10, train=0), ("'radius'", "NULL")),
        (feature(missing=8, train=0), "NULL in every row of the train split"),
        (feature(infinite=3), "feature 'radius' is infinite in 3 rows"),
    ],
)
def test_rows_that_cannot_be_learned_from_are_refused(changes, message):
    problems, _ = judged(**changes)
    assert any(says(problem, message) for problem in problems), problems


def test_nan_counts_as_null_and_is_reported():
    problems, warnings = judged(**feature(not_a_number=2, missing=2))
    assert problems == []
    (warning,) = warnings
    assert says(warning, "'radius'", "NaN in 2 rows")


def test_a_class_that_only_the_test_split_lacks_is_reported():
    classes = [c for c in CLASSES if (c["split"], c["label"]) != ("test", "m")]
    assert judged(classes=classes) == ([], ["no example of 'm' is in the test split"])


@pytest.mark.parametrize("name", ["M", "m ", "NA"])
def test_a_class_of_a_doubtful_name_is_reported(name):
    classes = [*CLASSES, *(c | {"label": name} for c in CLASSES)]
    problems, (warning,) = judged("multiclass_classification", classes=classes)
    assert problems == []
    assert repr(name) in warning


@pytest.mark.parametrize("most", [1e9, 1e9 + 1])
def test_a_number_that_never_changes_is_refused(most):
    """In the train split, and in what records hold: float32, of which these two are one number."""
    classes = [
        {"split": split, "label": None, "examples": 3} for split in ("train", "validation", "test")
    ]
    row = GOOD | {"classes": classes, "label_least": 1e9, "label_most": most}
    problems, _ = whole(judge(row, table(regression=True), "regression", KeySplit()))
    (problem,) = problems
    assert says(problem, "label 'kind'", "1e+09", "train split")
    different = row | {"label_most": 1e9 + 1000}
    assert judge(different, table(regression=True), "regression", KeySplit())[0] == []


def test_a_thousand_bad_features_are_not_all_listed():
    features = [{**RADIUS, "name": f"x{n}", "missing": 10, "train": 0} for n in range(1000)]
    problems, _ = judged(features=features)
    assert len(problems) == 21
    assert problems[-1] == "... and 980 more features"


def grouped(train=90, validation=25, test=25, unassigned=(), split=None):
    numbers = {"train": train, "validation": validation, "test": test}
    row = GOOD | {
        "unassigned": [dict(zip(("value", "examples", "key"), u, strict=True)) for u in unassigned],
        "values_by_split": [{"split": s, "number": n} for s, n in numbers.items() if n],
    }
    by_patient = dataclasses.replace(table(), split_by=Column("patient", "INT64"))
    by = split or GroupSplit(by="patient")
    return whole(judge(row, by_patient, "binary_classification", by))


def test_groups_that_are_enough_pass():
    assert grouped() == ([], [])


def test_a_row_without_a_group_is_refused():
    (problem,), _ = grouped(unassigned=[(None, 2, "a1")])
    assert says(problem, "split.by", "'patient'", "NULL", "'a1'")


def test_a_value_that_names_no_split_is_refused_with_row_and_value():
    own = ColumnSplit.model_validate({"column": "patient", "names": {"train": [0, 1], "test": [2]}})
    (problem,), _ = grouped(unassigned=[("9", 1, "a1")], split=own)
    assert says(
        problem,
        "split.column",
        "'patient'",
        "'9'",
        "'a1'",
        "'0', '1', 'validation', '2'",
        "split.names",
    )


def test_one_group_says_nothing_of_others():
    problems, warnings = grouped(validation=1, test=19)
    (problem,), (warning,) = problems, warnings
    assert says(problem, "validation split", "1 group", "'patient'", "needs 2")
    assert says(warning, "test split", "19 groups", "'patient'")


def test_the_file_chooses_what_a_sign_of_leakage_does():
    findings = [Finding("group", "ward", "rows belong together"), Finding("shift", "x", "x moved")]
    assert divided(findings, "warn") == ([], ["rows belong together", "x moved"])
    assert divided(findings, "refuse") == (["rows belong together"], ["x moved"])


SEVERAL = "multilabel_classification"


def sets(*labels):
    """Entries of the same labels in each split."""
    return [
        {"split": split, "label": label, "examples": 2}
        for split in ("train", "validation", "test")
        for label in labels
    ]


def test_a_row_may_have_any_number_of_classes():
    assert judged(SEVERAL, classes=sets("", "m", "b | m")) == ([], [])


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (sets("", "m"), ("'kind'", "'m'", "'|'")),
        (sets(*(f"c{n}" for n in range(64))), "a multi-label task has 2 to 63"),
        (
            [*sets("", "m|b"), {"split": "test", "label": "m|x", "examples": 1}],
            "no example of 'x' is in the train split",
        ),
        ([c for c in sets("m|b") if c["split"] != "test"], "the test split is empty"),
    ],
)
def test_sets_that_cannot_be_learned_are_refused(classes, message):
    problems, _ = judged(SEVERAL, classes=classes)
    assert any(says(problem, message) for problem in problems), problems


def test_a_class_of_sets_that_a_split_lacks_is_reported():
    classes = [c for c in sets("m", "b|m") if (c["split"], c["label"]) != ("test", "b|m")]
    assert judged(SEVERAL, classes=classes) == ([], ["no example of 'b' is in the test split"])

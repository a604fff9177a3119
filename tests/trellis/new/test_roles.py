"""Which column is what: proposed from names and counts."""

import pytest

from trellis.new.described import Column, DataError, Rows
from trellis.new.roles import propose, task_of, task_of_labels, with_sets


def rows(*columns, count=1000, **more):
    return Rows("data.t", count, columns, **more)


AGE = Column("age", "INT64", distinct=60)
RADIUS = Column("radius", "FLOAT64", distinct=900)


@pytest.mark.parametrize(
    ("type_", "distinct", "task"),
    [
        ("BOOL", 2, "binary_classification"),
        ("BOOL", 1, None),
        ("STRING", 2, "binary_classification"),
        ("STRING", 3, "multiclass_classification"),
        ("STRING", 900, None),  # text that hardly repeats
        ("INT64", 2, "binary_classification"),
        ("INT64", 20, "multiclass_classification"),
        ("INT64", 21, "regression"),
        ("FLOAT64", 500, "regression"),
        ("FLOAT64", 1, None),
        ("DATE", 10, None),
    ],
)
def test_a_labels_values_say_the_task(type_, distinct, task):
    assert task_of(Column("c", type_, distinct=distinct), 1000) == task


def test_a_label_by_its_name_else_the_last_column_that_can_be_one():
    species = Column("species", "STRING", distinct=3)
    assert propose(rows(species, AGE, RADIUS)).label == species
    stage = Column("stage", "STRING", distinct=4)
    note = Column("note", "STRING", distinct=900)
    assert propose(rows(AGE, RADIUS, stage, note)).label == stage
    named = propose(rows(species, AGE, RADIUS), label="AGE")
    assert (named.label, named.task, named.guessed) == (AGE, "regression", False)


def test_a_key_is_unique_and_has_the_name_of_one_or_is_text():
    number = Column("sample_id", "INT64", distinct=1000)
    count = Column("cells", "INT64", distinct=1000)
    code = Column("barcode_text", "STRING", distinct=1000)
    label = Column("label", "BOOL", distinct=2)
    assert propose(rows(count, code, number, RADIUS, label)).key == "sample_id"
    assert propose(rows(count, code, RADIUS, label)).key == "barcode_text"
    assert propose(rows(count, RADIUS, label)).key is None
    holes = Column("sample_id", "INT64", nulls=1, distinct=1000)
    assert propose(rows(holes, RADIUS, label)).key is None


def test_rows_of_one_patient_make_a_group_if_there_are_enough_of_them():
    label = Column("label", "BOOL", distinct=2)
    patient = Column("patient_id", "STRING", distinct=125)
    found = propose(rows(patient, RADIUS, label))
    assert (found.group, found.features) == ("patient_id", None)
    few = Column("patient_id", "STRING", distinct=12)
    assert propose(rows(few, RADIUS, label)).group is None


def test_what_no_model_learns_from_is_left_out_with_the_reason():
    label = Column("label", "BOOL", distinct=2)
    columns = (
        RADIUS,
        Column("machine", "STRING", distinct=1),
        Column("comment", "STRING", distinct=800),
        Column("uuid", "STRING", distinct=1000),
        Column("serial_number", "INT64", distinct=1000),
        Column("shape", "GEOGRAPHY"),
        Column("trace", "ARRAY<FLOAT64>"),
    )
    found = propose(rows(*columns, label))
    assert found.key == "uuid"
    assert found.features == ("radius", "trace")
    assert [name for name, _ in found.left_out] == ["machine", "comment", "serial_number", "shape"]
    assert found.sequences


@pytest.mark.parametrize(
    ("columns", "label", "message"),
    [
        ((RADIUS, AGE), "agee", "no column 'agee'.*did you mean 'age'"),
        ((RADIUS, Column("note", "STRING", distinct=999)), "note", "999 values in 1,000 rows"),
        ((Column("day", "DATE", distinct=9),), None, "no column that could be a label"),
        ((RADIUS,), None, "no column that could be a feature"),
    ],
)
def test_what_cannot_be_learned_is_refused(columns, label, message):
    with pytest.raises(DataError, match=message):
        propose(rows(*columns), label=label)


def test_numbers_are_no_names_of_classes():
    with pytest.raises(DataError, match="age is INT64: the label of multilabel_classification"):
        propose(rows(RADIUS, AGE), label="age", task="multilabel_classification")


def test_values_that_join_names_are_sets_unless_the_author_says_otherwise():
    found = propose(rows(RADIUS, Column("sort", "STRING", distinct=4)), label="sort")
    counts = {"a|b": 10, " b | c ": 20, "": 5, "c": 30}
    sets, classes = with_sets(found, counts, None)
    assert (sets.task, classes) == ("multilabel_classification", {"a": 10, "b": 30, "c": 50})
    assert with_sets(found, counts, "multiclass_classification") == (found, counts)
    assert with_sets(found, {"a": 3, "|": 4}, None) == (found, {"a": 3, "|": 4})


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        ({"cat": 5, "dog": 5}, "binary_classification"),
        ({"0": 5, "1": 5}, "binary_classification"),
        ({str(n): 50 for n in range(10)}, "multiclass_classification"),
        ({str(n): 2 for n in range(10)}, "regression"),
        ({str(n): 50 for n in range(30)}, "regression"),
        ({"0.5": 50, "1.5": 50, "2.5": 50}, "regression"),
        ({"0.5": 50, "1.5": 50, "none": 50}, "multiclass_classification"),
    ],
)
def test_the_task_of_images_follows_from_their_labels(labels, task):
    assert task_of_labels(labels) == task
    assert task_of_labels(labels, "multiclass_classification") == "multiclass_classification"


def test_a_regression_of_words_is_refused():
    with pytest.raises(DataError, match="a regression learns numbers, and 'cat' is a label"):
        task_of_labels({"cat": 5, "1": 5}, "regression")

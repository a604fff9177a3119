"""Roles of columns, proposed from names and counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trellis.new.described_rows import AGE, LABEL, RADIUS, rows, why
from trellis.new import files
from trellis.new.described import Column, DataError
from trellis.new.labels.names import task_of
from trellis.new.roles import propose, task_of_labels, with_sets


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


@pytest.mark.parametrize("name", ["id", "ID", "idnum", "ID No.", "clinic_id"])
def test_rows_of_one_number_make_a_group_where_another_column_is_the_key(name):
    label, row = Column("label", "BOOL", distinct=2), Column("rownames", "INT64", distinct=1000)
    found = propose(rows(row, Column(name, "INT64", distinct=500), RADIUS, label))
    assert (found.key, found.group, found.features) == ("rownames", name, None)


@pytest.mark.parametrize(
    ("column", "named"),
    [
        (Column("Patienten-Nr", "STRING", distinct=300), True),
        (Column("Patienten-Nr", "INT64", distinct=300), True),
        (AGE, False),
        (Column("sex", "STRING", distinct=3), False),
        (Column("scan", "STRING", distinct=300, addresses=("gs://b/a.png",)), False),
    ],
)
def test_a_column_of_many_values_that_repeat_may_be_a_group(column, named):
    label = Column("label", "BOOL", distinct=2)
    found = propose(rows(column, RADIUS, label))
    assert (found.group, found.repeating) == (None, (column,) if named else ())
    patient = Column("patient_id", "STRING", distinct=125)
    assert propose(rows(column, patient, RADIUS, label)).repeating == ()


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
    with pytest.raises(DataError, match=r"INT64.*multilabel_classification"):
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


@pytest.mark.parametrize("name", ["rownames", "Unnamed: 0", "column", "anything"])
@pytest.mark.parametrize("type_", ["INT64", "FLOAT64"])
def test_what_numbers_the_rows_is_no_feature_whatever_its_name(name, type_):
    number = Column(name, type_, distinct=1000, counting=True)
    found = propose(rows(number, RADIUS, LABEL))
    if type_ == "INT64":
        assert (found.key, "numbers the rows" in found.warnings[0]) == (name, True)
    else:
        assert why(found) == {name: "it numbers the rows"}
    beside = propose(rows(Column("sample_id", "STRING", distinct=1000), number, RADIUS, LABEL))
    assert (beside.key, why(beside)) == ("sample_id", {name: "it numbers the rows"})


def test_an_index_with_gaps_is_no_feature():
    """The rows were shuffled, or some were left out."""
    index = Column("Unnamed: 0", "INT64", distinct=1000)
    nameless = Column("column", "INT64", distinct=1000, own_name="")
    key = Column("sample_id", "STRING", distinct=1000)
    assert set(why(propose(rows(key, index, nameless, RADIUS, LABEL)))) == {"Unnamed: 0", "column"}
    assert why(propose(rows(Column("cells", "INT64", distinct=1000), RADIUS, LABEL))) == {}


def test_a_column_of_splits_is_the_split_and_never_the_label():
    split = Column("set", "STRING", distinct=3, values=("Test", "train", "val"))
    found = propose(rows(RADIUS, Column("kind", "STRING", distinct=2), split))
    assert found.label.name == "kind"
    assert found.splits == ("set", {"test": ["Test"], "train": ["train"], "validation": ["val"]})
    two = Column("set", "STRING", distinct=2, values=("test", "train"))
    found = propose(rows(RADIUS, Column("kind", "STRING", distinct=2), two))
    assert (found.label.name, found.splits) == ("kind", None)
    assert "which part of the data" in why(found)["set"]
    fold = propose(rows(RADIUS, LABEL, Column("fold", "INT64", distinct=5)))
    assert "which part of the data" in why(fold)["fold"]


@pytest.mark.parametrize("name", ["patient_id", "PatientID", "Subject No", "MRN", "participant"])
def test_who_a_row_is_of_is_no_feature(name):
    few = propose(rows(Column(name, "INT64", distinct=12), RADIUS, LABEL))
    assert (few.group, set(why(few))) == (None, {name})
    # Two rows of one in two splits would be no independent evidence, of however few.
    many = propose(rows(Column(name, "INT64", distinct=980), RADIUS, LABEL))
    assert (many.group, why(many)) == (name, {})
    alone = propose(rows(Column(name, "INT64", distinct=1000), RADIUS, LABEL))
    assert (alone.key, alone.group) == (name, None)
    with pytest.raises(DataError, match="no column that could be a label"):
        propose(rows(RADIUS_TEXT, Column(name, "INT64", distinct=400)))


RADIUS_TEXT = Column("note", "STRING", distinct=999)


def test_columns_that_say_who_somebody_is_are_warned_of():
    names = ["email", "last name", "Mother's surname", "fake_first_name"]
    columns = [Column(name, "STRING", distinct=90) for name in names]
    found = propose(rows(*columns, RADIUS, LABEL))
    assert ", ".join(names) in found.warnings[0]
    assert set(why(found)) == {*names}
    no_person = [Column(name, "STRING", distinct=9) for name in ("filename", "state_full_name")]
    assert not propose(rows(*no_person, RADIUS, LABEL)).warnings


def test_classes_stored_as_floats_are_classes():
    label = Column("ill", "FLOAT64", nulls=3, distinct=2, whole=True)
    found = propose(rows(RADIUS, label))
    assert (found.label, found.task, found.cast) == (label, "binary_classification", True)
    stages = Column("stage", "FLOAT64", distinct=4, whole=True)
    assert propose(rows(RADIUS, stages)).task == "multiclass_classification"
    assert not propose(rows(AGE, RADIUS), label="radius").cast


@pytest.mark.parametrize(
    ("label", "task", "message"),
    [
        (RADIUS, "binary_classification", "radius is FLOAT64 with 900 values: a class is text"),
        (AGE, "binary_classification", "age has 60 values.*multiclass_classification"),
        (LABEL, "regression", "label is BOOL: a regression learns numbers"),
        (Column("day", "DATE", distinct=2), "binary_classification", "a class is text"),
    ],
)
def test_a_task_that_the_label_does_not_fit_is_refused(label, task, message):
    with pytest.raises(DataError, match=message):
        propose(rows(Column("x", "FLOAT64", distinct=9), label), label.name, task)


def test_a_time_of_day_is_named_as_such():
    found = propose(rows(Column("admitted", "TIME", distinct=90), RADIUS, LABEL))
    assert "a time of day" in why(found)["admitted"]


def described(tmp_path, values):
    """The column `x` of a file with these values, as it is described."""
    path = tmp_path / "d.csv"
    path.write_text("x,y\n" + "".join(f"{value},{n % 2}\n" for n, value in enumerate(values)))
    return files.describe(files.read(path), "data.d").columns[0]


@given(
    others=st.lists(st.integers(-50, 50), min_size=3, max_size=30, unique=True),
    nines=st.sampled_from([-999, -9999, 999, 9999, 99999]),
    rows_=st.integers(2, 5),
    decimals=st.booleans(),
)
def test_nines_far_from_all_other_numbers_are_warned_of(
    tmp_path_factory, others, nines, rows_, decimals
):
    values = [*others, *[nines] * rows_]
    folder = tmp_path_factory.mktemp("nines")
    column = described(folder, [v + 0.0 for v in values] if decimals else values)
    assert column.nines == (str(nines), rows_)
    found = propose(rows(column, Column("y", "INT64", distinct=2)), "y")
    assert any(f"x ({nines} in {rows_} rows)" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    "values",
    [
        [18, 40, 77, 98, 99, 99, 99],  # an age
        [1, 2, 3, 4, 999],  # once
        [-9, -9, 0, 500, 1000],  # nearer to another one than these are to each other
        [-998, -998, 1, 2, 3],
        [1, 2, 999, 999],
    ],
)
def test_other_numbers_are_no_news(tmp_path, values):
    assert described(tmp_path, values).nines is None


def test_numbers_that_a_run_refuses_as_infinite_are_warned_of(tmp_path):
    column = described(tmp_path, [0.5, "inf", -3.5e38, 3.4e38, 1.5, ""])
    assert column.infinite == 2
    (warning,) = propose(rows(column, Column("y", "INT64", distinct=2)), "y").warnings
    assert "x (2 rows)" in warning
    assert described(tmp_path, [1, 2, 3]).infinite == 0


def test_a_message_does_not_list_thousands_of_columns():
    many = [Column(f"c{n}", "STRING", distinct=1) for n in range(5000)]
    with pytest.raises(DataError) as raised:
        propose(rows(Column("y", "INT64", distinct=2), *many), "y")
    assert "and 4,960 more" in str(raised.value)
    assert len(str(raised.value)) < 4000


def test_more_features_than_a_run_takes_are_warned_of():
    many = [Column(f"c{n}", "FLOAT64", distinct=900) for n in range(1001)]
    label = Column("y", "INT64", distinct=2)
    assert any("1,001 columns would be" in said for said in propose(rows(label, *many)).warnings)
    assert not any("columns would be" in said for said in propose(rows(label, *many[1:])).warnings)


def test_where_there_is_nothing_else_free_text_is_the_feature():
    review = Column("review", "STRING", distinct=990, words=40.0)
    score = Column("score", "STRING", distinct=2, values=("great", "other"))
    found = propose(rows(review, score), "score")
    assert (found.features, found.free_texts, found.texts) == (None, ("review",), ())
    beside = propose(rows(review, RADIUS, score), "score")
    assert (beside.features, beside.free_texts, beside.texts) == (("radius",), (), ("review",))
    names = Column("country", "STRING", distinct=990, words=1.2)
    with pytest.raises(DataError, match="no column that could be a feature"):
        propose(rows(names, score), "score")

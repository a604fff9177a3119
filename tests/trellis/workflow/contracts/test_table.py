"""Columns that become features, their names, and refusals of a source."""

import json
import re

import pytest
from google.cloud.bigquery import SchemaField
from hypothesis import given
from hypothesis import strategies as st

from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.table import (
    MOST_FEATURES,
    RESERVED,
    Column,
    Table,
    columns,
    resolve,
)
from trellis.workflow.validation.file import with_changes
from trellis_contracts.columns import ImageForm

CELLS = [
    Column("sample_id", "STRING"),
    Column("measured_on", "DATE"),
    Column("malignant", "BOOL"),
    Column("mean radius", "FLOAT64"),
    Column("stage", "INT64"),
]


@pytest.fixture
def table(breast_cancer):
    """Resolves columns for the demo's experiment, with some keys of its source changed."""

    def table(known, task="binary_classification", **changes):
        changed = with_changes(breast_cancer, {("source", name): v for name, v in changes.items()})
        return resolve(changed.model_copy(update={"task": task}), "d.cells", known)

    return table


def named(found):
    return {feature.name: (feature.column, feature.type, feature.kind) for feature in found}


def test_all_other_columns_are_features(table):
    assert named(table(CELLS).features) == {
        "mean radius": ("mean_radius", "FLOAT64", "numeric"),
        "stage": ("stage", "INT64", "numeric"),
    }


def test_features_are_those_named_in_that_order(table):
    assert list(named(table(CELLS, features=["stage", "mean radius"]).features)) == [
        "stage",
        "mean radius",
    ]


def test_a_whole_number_may_be_a_category(table):
    assert named(table(CELLS, categorical=["stage"]).features)["stage"] == (
        "stage",
        "STRING",
        "categorical",
    )


@pytest.mark.parametrize(
    ("type_", "stored", "kind", "sql"),
    [
        ("INT64", "INT64", "numeric", "CAST(x AS INT64)"),
        ("BIGNUMERIC", "FLOAT64", "numeric", "CAST(x AS FLOAT64)"),
        ("BOOL", "BOOL", "boolean", "CAST(x AS BOOL)"),
        ("STRING", "STRING", "categorical", "CAST(x AS STRING)"),
        ("DATE", "TIMESTAMP", "timestamp", "TIMESTAMP(x)"),
        ("ARRAY<INT64>", "ARRAY<INT64>", "sequence", "x"),
    ],
)
def test_a_type_decides_what_a_column_is(table, type_, stored, kind, sql):
    (feature,) = table([*CELLS[:3], Column("x", type_)]).features
    assert (feature.type, feature.kind, feature.expression("x")) == (stored, kind, sql)


def test_the_api_s_names_of_types_are_known():
    fields = [
        SchemaField("a", "FLOAT"),
        SchemaField("b", "INTEGER", "REPEATED"),
        SchemaField("c", "BOOLEAN", "REQUIRED"),
        SchemaField("d", "RECORD", fields=[SchemaField("e", "STRING")]),
    ]
    assert [c.type for c in columns(fields)] == ["FLOAT64", "ARRAY<INT64>", "BOOL", "STRUCT"]


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=8, unique_by=str.lower))
def test_whatever_columns_are_called_their_aliases_are_plain_and_differ(breast_cancer, names):
    taken = ("sample_id", "malignant", "measured_on")
    names = [name for name in names if name.lower() not in taken] or ["x"]
    known = [*CELLS[:3], *(Column(name, "FLOAT64") for name in names)]
    aliases = [f.column for f in resolve(breast_cancer, "t", known).features]
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", alias) for alias in aliases)
    assert len({alias.lower() for alias in [*aliases, *RESERVED]}) == len(aliases) + len(RESERVED)


@pytest.mark.parametrize("name", [*RESERVED, "Predicted_Label", "PREDICTION"])
def test_a_name_that_trellis_or_google_gives_a_column_is_another_inside(breast_cancer, name):
    known = [*CELLS[:3], Column(name, "FLOAT64")]
    (feature,) = resolve(breast_cancer, "t", known).features
    assert feature.name == name
    assert feature.column.lower() not in RESERVED


def test_spaces_and_unicode_in_names(table):
    names = ["mean radius", "mean_radius", "größe", "年", "年月", "2nd", "Split", "a`b"]
    found = table([*CELLS[:3], *(Column(name, "FLOAT64") for name in names)]).features
    assert [f.column for f in found] == [
        "mean_radius_2",
        "mean_radius",
        "groe",
        "column",
        "column_2",
        "c_2nd",
        "Split_2",
        "a_b",
    ]


def test_a_string_may_be_free_text(table):
    found = table([*CELLS, Column("note", "STRING")], text=["Note"])
    assert named(found.features)["note"] == ("note", "STRING", "text")


def test_baselines_do_without_sequences_and_text(table):
    found = table(
        [*CELLS, Column("trace", "ARRAY<FLOAT64>"), Column("note", "STRING")], text=["note"]
    )
    assert found.left_out() == ["trace", "note"]
    assert not {"trace", "note"} & set(named(found.of_baselines()))


def test_a_table_is_the_same_after_json(table):
    found = table([*CELLS, Column("trace", "ARRAY<FLOAT64>")])
    assert Table.from_document(found.to_document()) == found


def test_what_keeps_rows_together_is_no_feature(table):
    patient, clash = Column("Patient", "INT64"), Column("split_by", "FLOAT64")
    found = table([*CELLS, patient, clash], split={"by": "patient"})
    assert found.split_by == patient
    assert named(found.features)["split_by"][0] == "split_by_2"
    assert "Patient" not in named(found.features)
    assert Table.from_document(found.to_document()) == found
    # A day stays out unless it is named; what is divided evenly may well be learned from.
    cuts = {"time": "measured_on", "validation": "2024-01-02", "test": "2024-01-03"}
    assert "measured_on" not in named(table(CELLS, split=cuts, partition=None).features)
    assert "stage" in named(table(CELLS, split={"stratify": "stage"}).features)
    # Without it, all is as it was.
    plain = table([*CELLS, patient, clash])
    assert named(plain.features)["split_by"][0] == "split_by"
    assert plain.to_document()["split_by"] is None


def test_what_is_kept_is_no_feature(table):
    known = [*CELLS, Column("Sex", "STRING"), Column("größe", "INT64"), Column("groe", "INT64")]
    found = table(known, keep=["sex", "größe"])
    assert {one.name: one.column for one in found.kept} == {"Sex": "Sex", "größe": "groe_2"}
    assert list(named(found.features)) == ["mean radius", "stage", "groe"]
    assert Table.from_document(found.to_document()) == found
    assert table(known).kept == ()
    with pytest.raises(SourceError, match=r"source\.keep\[0\].*'site'"):
        table(known, keep=["site"])
    with pytest.raises(SourceError, match=r"source.keep\[0\]: 'visits' is STRUCT"):
        table([*known, Column("visits", "STRUCT")], keep=["visits"])


def test_what_rows_count_is_no_feature(table):
    weight, clash = Column("Weight", "NUMERIC"), Column("example_weight", "FLOAT64")
    found = table([*CELLS, weight, clash], weight="weight")
    assert found.weight == weight
    assert named(found.features)["example_weight"][0] == "example_weight_2"
    assert "Weight" not in named(found.features)
    assert Table.from_document(found.to_document()) == found
    plain = table([*CELLS, weight])
    assert "Weight" in named(plain.features)
    assert plain.weight is None


@pytest.mark.parametrize(
    ("known", "changes", "message"),
    [
        (
            CELLS,
            {"weight": "measured_on", "partition": None},
            r"source\.weight.*'measured_on'.*DATE.*INT64, FLOAT64",
        ),
        (CELLS, {"split": {"by": "patient"}}, r"source\.split\.by.*'patient'"),
        (CELLS, {"split": {"by": "mean radius"}}, "a group is text or a whole number"),
        (CELLS, {"label": "maligant"}, r"source\.label.*'maligant'"),
        (CELLS, {"key": "id"}, "source.key: there is no column 'id'"),
        (CELLS, {"key": "mean radius"}, r"'mean radius'.*FLOAT64"),
        (CELLS, {"label": "mean radius"}, "a class is text, a whole number or a BOOL"),
        (CELLS, {"partition": "stage"}, r"'stage'.*INT64"),
        (CELLS, {"features": ["mean radus"]}, "did you mean 'mean radius'"),
        (CELLS, {"categorical": ["mean radius"]}, r"FLOAT64.*INT64 or STRING"),
        (CELLS, {"text": ["stage"]}, "source.text: 'stage' is INT64; text is STRING"),
        (CELLS, {"text": ["note"]}, "source.text: there is no column 'note'"),
        (CELLS[:3], {}, "no column left to be a feature"),
        ([*CELLS, Column("where", "GEOGRAPHY")], {}, "'where' is GEOGRAPHY, which is none of"),
        (
            [*CELLS, *(Column(f"x{n}", "FLOAT64") for n in range(2000))],
            {},
            rf"2,002 columns would be features, at most {MOST_FEATURES:,} can be; name those",
        ),
    ],
)
def test_a_source_that_does_not_fit_is_refused(table, known, changes, message):
    with pytest.raises(SourceError, match=message):
        table(known, **changes)


def test_all_that_does_not_fit_is_said_at_once(table):
    with pytest.raises(SourceError) as raised:
        table(CELLS, key="id", label="benign", partition="day")
    assert len(str(raised.value).splitlines()) == 4


def test_a_regression_learns_a_number(table):
    found = table(CELLS, task="regression", label="stage")
    assert (found.label_type, found.regression) == ("FLOAT64", True)
    with pytest.raises(SourceError, match="what a regression learns is a number"):
        table(CELLS, task="regression")


def test_several_classes_are_a_text(table):
    texts = [*CELLS, Column("findings", "STRING")]
    found = table(texts, task="multilabel_classification", label="findings")
    assert (found.label_type, found.regression) == ("STRING", False)
    with pytest.raises(SourceError, match="several classes are one text, with"):
        table(CELLS, task="multilabel_classification", label="stage")


def test_a_column_of_addresses_is_an_image(table):
    known = [*CELLS, Column("Photo", "STRING")]
    form = {"size": 64, "channels": 1, "resize": "crop"}
    found = table(known, image_columns={"photo": form})
    (photo,) = found.images
    assert named([photo]) == {"Photo": ("Photo", "STRING", "image")}
    assert photo.image == ImageForm((64, 64), 1, "jpeg", "crop")
    assert found.of_baselines() == [f for f in found.features if f != photo]
    assert found.left_out() == ["Photo"]
    assert Table.from_document(json.loads(json.dumps(found.to_document()))) == found


def test_a_column_of_images_that_is_no_text_is_refused(table):
    with pytest.raises(SourceError, match=r"source\.image_columns: 'stage' is INT64; image is"):
        table(CELLS, image_columns={"stage": {"size": 8}})
    with pytest.raises(SourceError, match=r"source\.image_columns.*'photo'"):
        table(CELLS, image_columns={"photo": {"size": 8}})

"""Columns to predict from against those that a model learned from; names of tables."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.prediction_layout import _name
from trellis.workflow.contracts.table import Column, Feature, Table
from trellis.workflow.stages.prediction.columns import fit

LEARNED = Table(
    Column("id", "STRING"),
    Column("y", "BOOL"),
    None,
    [
        Feature("Radius", "Radius", "FLOAT64", "numeric"),
        Feature("count", "count", "INT64", "numeric"),
        Feature("site", "site", "STRING", "categorical"),
        Feature("taken", "taken", "TIMESTAMP", "timestamp"),
        Feature("pulse", "pulse", "ARRAY<FLOAT64>", "sequence"),
    ],
    False,
)
GOOD = {
    "ID": "INT64",
    "radius": "NUMERIC",
    "count": "INT64",
    "site": "INT64",
    "taken": "DATE",
    "pulse": "ARRAY<INT64>",
    "day": "DATE",
    "note": "STRING",
}


def check(changed=None, partition=None):
    columns = {**GOOD, **(changed or {})}
    known = [Column(name, type_) for name, type_ in columns.items() if type_]
    return fit("p.d.t", "cells@3", LEARNED, known, partition)


def test_what_loses_nothing_fits_and_the_rest_is_left_out():
    assert check() == (None, ["day", "note"])
    assert check(partition="day")[0] == Column("day", "DATE")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ID": None}, "there is no key column 'id'"),
        ({"site": None, "sites": "STRING"}, "there is no column 'site'; did you mean 'sites'?"),
        ({"count": "FLOAT64"}, "'count' is FLOAT64; the model learned from INT64"),
        ({"radius": "STRING"}, "'radius' is STRING; the model learned from FLOAT64, which takes"),
        ({"site": "BOOL"}, "'site' is BOOL"),
        ({"pulse": "FLOAT64"}, "'pulse' is FLOAT64"),
    ],
)
def test_what_does_not_fit_is_named(changed, said):
    with pytest.raises(SourceError) as refused:
        check(changed)
    assert str(refused.value).startswith("p.d.t does not fit cells@3:")
    assert said in str(refused.value)


def test_a_column_of_images_holds_addresses():
    learned = replace(LEARNED, features=[Feature("photo", "photo", "STRING", "image")])
    known = [Column("id", "STRING"), Column("photo", "STRING"), Column("photos", "INT64")]
    assert fit("p.d.t", "cells@3", learned, known, None) == (None, ["photos"])
    with pytest.raises(SourceError, match="'photo' is INT64; the model learned from STRING"):
        fit("p.d.t", "cells@3", learned, [known[0], Column("photo", "INT64")], None)


def test_a_feature_with_the_name_of_the_answers_column_is_refused():
    learned = replace(LEARNED, features=[Feature("prediction", "prediction", "INT64", "numeric")])
    known = [Column("id", "STRING"), Column("prediction", "INT64")]
    with pytest.raises(SourceError, match="'prediction' has the name of the column that Vertex AI"):
        fit("p.d.t", "cells@3", learned, known, None)


def test_everything_that_is_wrong_is_said_at_once():
    with pytest.raises(SourceError) as refused:
        check({"ID": None, "count": "FLOAT64"}, partition="dy")
    assert str(refused.value).count("\n") == 3


def test_a_partition_is_days_or_moments():
    with pytest.raises(SourceError, match=r"predict.partition: 'note' is STRING"):
        check(partition="note")


@given(st.tuples(st.text(max_size=200)), st.tuples(st.text(max_size=200)))
def test_runs_never_share_a_table(one, other):
    assert (_name("p", *one) == _name("p", *other)) == (one == other)
    assert len(_name("p", *one)) < 120

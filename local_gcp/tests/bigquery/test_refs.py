import pytest

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.refs import DatasetRef, ModelRef, TableRef


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("q.d.t", TableRef("q", "d", "t")),
        ("q:d.t", TableRef("q", "d", "t")),
        ("my-project.d.t", TableRef("my-project", "d", "t")),
        ("example.com:q.d.t", TableRef("example.com:q", "d", "t")),
        ("d.t", TableRef("p", "d", "t")),
        ("t", TableRef("p", "default", "t")),
        ("d.Größe 1", TableRef("p", "d", "Größe 1")),
        ("d.t$20240103", TableRef("p", "d", "t$20240103")),
    ],
)
def test_tables_are_named_in_many_ways(text, ref):
    assert TableRef.parse(text, "p", "default") == ref


def test_a_table_without_a_dataset_needs_a_default_one():
    with pytest.raises(BigQueryError, match='Table "t" must be qualified with a dataset'):
        TableRef.parse("t", "p")


@pytest.mark.parametrize("text", ["d.a*b", "d.", "a b.t", "q.d.t$", "d.x;y"])
def test_bad_names_are_refused(text):
    with pytest.raises(BigQueryError) as caught:
        TableRef.parse(text, "p")
    assert (caught.value.reason, caught.value.status) == ("invalid", 400)


def test_decorators():
    day = TableRef("p", "d", "t$20240103")
    assert (day.partition, day.whole) == ("20240103", TableRef("p", "d", "t"))
    assert day.whole.partition is None
    assert TableRef("p", "d", "t$__NULL__").partition == "__NULL__"
    with pytest.raises(BigQueryError, match=r"Invalid table partition decorator: \$tomorrow"):
        _ = TableRef("p", "d", "t$tomorrow").partition


def test_rest_forms():
    ref = TableRef("p", "d", "t")
    assert TableRef.from_api(ref.api) == ref
    assert str(ref) == "p:d.t"
    model = ModelRef.parse("d.m", "p")
    assert ModelRef.from_api(model.api) == model
    assert model.dataset_ref == DatasetRef.parse("d", "p") == DatasetRef("p", "d")

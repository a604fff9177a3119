"""Managed datasets through Google's own client."""

import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api

from local_gcp.vertex.datasets.dataset_service import IMAGE, SINGLE_LABEL, TABULAR
from local_gcp.vertex.datasets.importing import ML_USE


@pytest.fixture
def bucket(home):
    folder = home.buckets / "bucket"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.png").write_bytes(b"pixels")
    return folder


def create(vertex, **fields):
    dataset = {"display_name": "digits", "metadata_schema_uri": IMAGE, **fields}
    request = {"parent": vertex.parent, "dataset": dataset}
    return vertex.datasets.create_dataset(request=request).result(timeout=60)


def tabular(vertex, config, **fields):
    return create(vertex, metadata_schema_uri=TABULAR, metadata={"inputConfig": config}, **fields)


def load(vertex, dataset, *uris, **fields):
    config = {"gcs_source": {"uris": uris}, "import_schema_uri": SINGLE_LABEL, **fields}
    operation = vertex.datasets.import_data(name=dataset.name, import_configs=[config])
    operation.result(timeout=60)
    return operation.metadata.generic_metadata.partial_failures


def items(vertex, dataset):
    """What AutoML would read of a dataset of images."""
    return {item.uri: item for item in vertex.service.datasets.items.of(dataset.name)}


def test_images_are_imported_with_labels_and_uses(vertex, bucket):
    text = "training,gs://bucket/0.png,zero\ntest,gs://bucket/1.png,one\nvalidation,gs://bucket/2.png\n"
    (bucket / "manifest.csv").write_text(text)
    dataset = create(vertex)
    assert not load(vertex, dataset, "gs://bucket/*.csv", data_item_labels={"site": "a"})

    assert vertex.datasets.get_dataset(name=dataset.name).data_item_count == 3
    imported = items(vertex, dataset)
    assert imported["gs://bucket/0.png"].label == "zero"
    assert imported["gs://bucket/1.png"].labels == {ML_USE: "test", "site": "a"}


def test_an_import_leaves_out_what_is_wrong_and_reports_it(vertex, bucket):
    (bucket / "manifest.csv").write_text("gs://bucket/0.png,a\ngs://bucket/9.png,b\nx,y\n")
    dataset = create(vertex)
    failures = load(vertex, dataset, "gs://bucket/manifest.csv")
    missing, unknown = (failure.message for failure in failures)
    assert missing.startswith("gs://bucket/9.png: ")
    assert unknown.startswith("gs://bucket/manifest.csv:3: 'x' ")
    with pytest.raises(exceptions.MethodNotImplemented, match="an import of JSON lines"):
        load(vertex, dataset, "gs://bucket/items.jsonl")
    (bucket / "empty.csv").write_text("gs://bucket/9.png,b\n")
    with pytest.raises(exceptions.FailedPrecondition, match="No image could be imported"):
        load(vertex, dataset, "gs://bucket/empty.csv")


def test_importing_again_changes_the_items_and_makes_none_twice(vertex, bucket):
    dataset = create(vertex)
    for text in ("training,gs://bucket/0.png,a\n", "gs://bucket/0.png,b\ngs://bucket/1.png,b\n"):
        (bucket / "manifest.csv").write_text(text)
        load(vertex, dataset, "gs://bucket/manifest.csv")
    imported = items(vertex, dataset)
    assert [item.label for item in imported.values()] == ["b", "b"]
    assert imported["gs://bucket/0.png"].labels == {ML_USE: "training"}


def test_an_import_that_a_kill_interrupted_is_done_at_the_next_start(vertex, bucket, monkeypatch):
    (bucket / "manifest.csv").write_text("gs://bucket/0.png,a\n")
    dataset = create(vertex)
    monkeypatch.setattr(vertex.service.background, "submit", lambda *_: None)
    config = {"gcs_source": {"uris": ["gs://bucket/manifest.csv"]}}
    config["import_schema_uri"] = SINGLE_LABEL
    operation = vertex.datasets.import_data(name=dataset.name, import_configs=[config])
    monkeypatch.undo()
    assert not operation.done()
    vertex.service.datasets.start()
    operation.result(timeout=60)
    assert vertex.datasets.get_dataset(name=dataset.name).data_item_count == 1


def test_a_tabular_dataset_points_at_its_rows(vertex):
    from_storage = tabular(vertex, {"gcsSource": {"uri": ["gs://bucket/rows.csv"]}})
    # The provider's examples write it in snake_case; the SDK reads camelCase.
    from_table = create(
        vertex,
        metadata_schema_uri=TABULAR,
        metadata={"input_config": {"bigquery_source": {"uri": "bq://local-gcp.lab.cells"}}},
    )
    assert from_storage.metadata["inputConfig"]["gcsSource"]["uri"] == ["gs://bucket/rows.csv"]
    assert from_table.metadata["inputConfig"]["bigquerySource"]["uri"] == "bq://local-gcp.lab.cells"
    assert from_table.labels["aiplatform.googleapis.com/dataset_metadata_schema"] == "TABLE"
    with pytest.raises(exceptions.InvalidArgument, match="nothing is imported"):
        load(vertex, from_table, "gs://bucket/manifest.csv")


def test_list_and_delete(vertex):
    made = create(vertex, display_name="one", labels={"team": "vision"})
    assert not made.etag, "real responses have none"
    one = vertex.datasets.get_dataset(name=made.name)
    masked = vertex.datasets.get_dataset(
        request={"name": made.name, "read_mask": {"paths": ["display_name"]}}
    )
    assert masked == api.Dataset(display_name=one.display_name)
    tabular(vertex, {"bigquerySource": {"uri": "bq://local-gcp.lab.t"}}, display_name="two")

    def listed(text=""):
        request = {"parent": vertex.parent, "filter": text}
        return [dataset.display_name for dataset in vertex.datasets.list_datasets(request=request)]

    assert listed() == ["two", "one"]
    assert listed("labels.team=vision") == ["one"]
    assert listed(f'metadata_schema_uri="{TABULAR}"') == ["two"]
    vertex.datasets.delete_dataset(name=one.name).result(timeout=60)
    assert listed() == ["two"]
    with pytest.raises(exceptions.NotFound):
        vertex.datasets.get_dataset(name=one.name)


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"display_name": ""}, exceptions.InvalidArgument, "display_name"),
        (
            {"metadata_schema_uri": IMAGE.replace("image", "video")},
            exceptions.MethodNotImplemented,
            "does not emulate datasets of the kind .*video",
        ),
        ({"metadata_schema_uri": TABULAR}, exceptions.InvalidArgument, "dataset.metadata"),
        (
            {"metadata_schema_uri": TABULAR, "metadata": {"inputConfig": {}}},
            exceptions.InvalidArgument,
            "either a gcsSource or a bigquerySource",
        ),
        (
            {
                "metadata_schema_uri": TABULAR,
                "metadata": {"inputConfig": {"bigquerySource": {"uri": "bq://other.lab.t"}}},
            },
            exceptions.InvalidArgument,
            "The only project is",
        ),
    ],
)
def test_what_is_refused(vertex, fields, error, words):
    with pytest.raises(error, match=words):
        create(vertex, **fields)
    with pytest.raises(exceptions.MethodNotImplemented, match=r"DatasetService\.ExportData"):
        vertex.datasets.export_data(name=f"{vertex.parent}/datasets/1", export_config={})

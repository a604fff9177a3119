"""Import files: the CSV manifest."""

from local_gcp.vertex.datasets import importing
from local_gcp.vertex.datasets.importing import ML_USE, Item


def read(tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text)
    return list(importing.read(file, f"gs://b/{name}"))


def test_a_manifest_has_a_use_an_image_and_a_label(tmp_path):
    text = (
        'gs://b/1.png,dog\ntraining,gs://b/2.png,"a, b"\n\nTEST,gs://b/3.png\n,gs://b/4.png,cat\n'
    )
    assert read(tmp_path, "manifest.csv", text) == [
        Item("gs://b/1.png", "dog"),
        Item("gs://b/2.png", "a, b", {ML_USE: "training"}),
        Item("gs://b/3.png", None, {ML_USE: "test"}),
        Item("gs://b/4.png", "cat"),
    ]


def test_a_line_that_cannot_be_used_is_named_with_its_reason(tmp_path):
    text = "train,gs://b/1.png,dog\ngs://b/2.png,dog,cat\ntraining\ngs://b,dog\ngs://b/5.png,\n"
    assert [str(problem) for problem in read(tmp_path, "m.csv", text)] == [
        "gs://b/m.csv:1: 'train' is not one of training, validation, test",
        "gs://b/m.csv:2: there are 2 labels; one is allowed",
        "gs://b/m.csv:3: there is no image",
        "gs://b/m.csv:4: 'gs://b' is not gs://BUCKET/OBJECT",
        "gs://b/m.csv:5: the label is empty",
    ]

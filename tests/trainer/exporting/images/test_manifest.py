"""A manifest is read as Vertex AI means it; what makes no sense is refused with line and remedy."""

import contextlib
import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.exporting import ExportError
from trainer.exporting.images.manifest import Rejection, parse
from trellis_contracts.tasks import MULTILABEL, REGRESSION
from trellis_contracts.withheld import shown

ADDRESS = "gs://bkt/manifest.csv"


def read(text, address=ADDRESS):
    return parse(text.encode(), address)


def refusal(text, address=ADDRESS):
    with pytest.raises(ExportError) as refused:
        read(text, address)
    assert str(refused.value).startswith(f"{address}: ")
    return shown(refused.value.text)


def test_image_and_label():
    manifest = read("gs://bkt/flowers/1.jpg,daisy\ngs://bkt/2.jpg,rose\n")
    assert [(row.line, row.uri, row.key, row.label) for row in manifest.rows] == [
        (1, "gs://bkt/flowers/1.jpg", "flowers/1.jpg", "daisy"),
        (2, "gs://bkt/2.jpg", "2.jpg", "rose"),
    ]
    assert not manifest.names_splits
    assert manifest.lines == 2
    assert not manifest.rejected


def test_the_same_object_name_in_two_buckets_is_two_images():
    manifest = read("gs://site-a/1.png,ill\ngs://site-b/1.png,well\ngs://site-a/2.png,well\n")
    assert [(row.key, row.label) for row in manifest.rows] == [
        ("site-a/1.png", "ill"),
        ("site-b/1.png", "well"),
        ("site-a/2.png", "well"),
    ]
    assert not manifest.rejected


@given(
    st.sets(
        st.tuples(
            st.sampled_from(["one", "two", "one.two"]), st.sampled_from(["1", "two/1", "a/b"])
        ),
        min_size=1,
    )
)
def test_every_address_is_an_image_of_its_own(images):
    manifest = read("".join(f"gs://{bucket}/{name},label\n" for bucket, name in sorted(images)))
    assert len({row.key for row in manifest.rows}) == len(images)
    assert not manifest.rejected
    if len({bucket for bucket, _ in images}) == 1:
        assert {row.key for row in manifest.rows} == {name for _, name in images}


def test_two_images_never_share_a_key(tmp_path):
    text = "bkt/1.png,a\ngs://bkt/1.png,b\n"
    message = refusal(text, str(tmp_path / "manifest.csv"))
    assert "/bkt/1.png and gs://bkt/1.png (lines 1 and 2) have one key, 'bkt/1.png'" in message


def test_ml_use_names_the_split_in_any_case():
    manifest = read("TRAINING,gs://bkt/1,a\nValidation,gs://bkt/2,b\ntest,gs://bkt/3,a\n")
    assert manifest.names_splits
    assert [row.split for row in manifest.rows] == ["train", "validation", "test"]


def test_the_words_of_automl_vision_are_understood():
    """They are what most manifests in public have."""
    manifest = read("TRAIN,gs://bkt/1,a\nVALIDATION,gs://bkt/2,b\nTEST,gs://bkt/3,a\n")
    assert [row.split for row in manifest.rows] == ["train", "validation", "test"]
    assert not read("UNASSIGNED,gs://bkt/1,a\nunassigned,gs://bkt/2,b\n").names_splits


def test_an_empty_ml_use_on_every_line_is_none():
    manifest = read(",gs://bkt/1,a\n,gs://bkt/2,b\n")
    assert not manifest.names_splits
    assert [row.label for row in manifest.rows] == ["a", "b"]


def test_blanks_quotes_marks_and_line_ends_of_spreadsheets_do_no_harm():
    text = '\ufeffgs://bkt/1.png , daisy\r\n\r\n"gs://bkt/a, b.png", "ox-eye, large"\r\ngs://bkt/3,é,\r\n'
    manifest = read(text)
    assert [(row.line, row.key, row.label) for row in manifest.rows] == [
        (1, "1.png", "daisy"),
        (3, "a, b.png", "ox-eye, large"),
        (4, "3", "é"),
    ]


def test_a_field_with_a_line_break_does_not_shift_line_numbers():
    manifest = read('gs://bkt/1,"two\nlines"\ngs://bkt/2,b\n')
    assert [row.line for row in manifest.rows] == [1, 3]


def test_lines_without_a_label_are_rejected():
    manifest = read("gs://bkt/1,a\ngs://bkt/2,\ngs://bkt/3\ngs://bkt/4,b\n")
    assert [row.line for row in manifest.rows] == [1, 4]
    assert manifest.rejected == (
        Rejection(2, "gs://bkt/2", "", "no label"),
        Rejection(3, "gs://bkt/3", "", "no label"),
    )
    assert manifest.lines == 4


def test_lines_with_several_labels_are_rejected():
    (rejected,) = read("gs://bkt/1,a\ngs://bkt/2,a,b\n").rejected
    assert rejected == Rejection(2, "gs://bkt/2", "a,b", "several labels; an image has one")


def test_an_image_that_is_listed_twice_counts_once():
    manifest = read("gs://bkt/1,a\ngs://bkt/2,b\ngs://bkt/1,a\ngs://other/2,b\n")
    assert [row.line for row in manifest.rows] == [1, 2, 4]
    assert [(r.line, r.reason) for r in manifest.rejected] == [(3, "same key as line 1")]


def test_an_image_with_contradictory_labels_is_not_used_at_all():
    manifest = read("gs://bkt/1,a\ngs://bkt/2,b\ngs://bkt/1,c\n")
    assert [row.line for row in manifest.rows] == [2]
    assert [r.line for r in manifest.rejected] == [1, 3]
    assert "'a' on line 1, 'c' on line 3" in manifest.rejected[0].reason


def test_a_manifest_on_disk_may_name_images_beside_it():
    manifest = read("images/1.png,a\ngs://bkt/2.png,b\n", "/data/flowers/manifest.csv")
    assert [(row.uri, row.key) for row in manifest.rows] == [
        ("/data/flowers/images/1.png", "images/1.png"),
        ("gs://bkt/2.png", "bkt/2.png"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the manifest is empty"),
        (" \n\n,\n", "the manifest is empty"),
        ("gs://bkt/1\ngs://bkt/2\n", "the label column is missing: none of 2 lines"),
        ("training,gs://bkt/1\ntest,gs://bkt/2\n", "the label column is missing"),
        ("image,label\ngs://bkt/1,a\ngs://bkt/2,b\n", "line 1 looks like a header ('image,label')"),
        ("ml_use,image,label\ntest,gs://bkt/1,a\n", "line 1 looks like a header"),
        ("gs://bkt/1,a\n/home/me/2.png,b\n", "1 of 2 lines name no image as gs://BUCKET/OBJECT: "),
        ("gs://bkt/1,a\ns3://b/2.png,b\n", "line 2 's3://b/2.png,b'"),
        ("https://b/1.png,a\nhttps://b/2.png,b\n", "2 of 2 lines name no image"),
        ("gs://bkt/1,a\ngs://bkt/,b\ngs://Bucket/1,c\n", "2 of 3 lines name no image"),
        ("cat,gs://bkt/1\ndog,gs://bkt/2\n", "unknown ML_USE on 2 lines: line 1 'cat,gs://bkt/1'"),
        ("dev,gs://bkt/1,a\ntest,gs://bkt/2,b\n", "it is one of training, train, validation, te"),
        (
            "TEST,gs://bkt/1,a\nUNASSIGNED,gs://bkt/2,b\n",
            "ML_USE is given on 1 of 2 lines (on line 1, not on line 2)",
        ),
        (
            "gs://bkt/1,a\ntest,gs://bkt/2,b\ngs://bkt/3,b\n",
            "ML_USE is given on 1 of 3 lines (on line 2, not on line 1)",
        ),
        ('{"imageGcsUri": "gs://bkt/1"}\n', "JSON Lines"),
        ("gs://bkt/1,a\n\x00,b\n", "name no image"),
        ('gs://bkt/1,"a' + "x" * 200_000, "line 1 is not CSV"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(text, message):
    assert message in refusal(text)


def test_other_encodings_are_refused_with_the_byte():
    with pytest.raises(ExportError, match="not UTF-8 at byte 11; save the file as UTF-8"):
        parse("gs://bkt/1,é\n".encode("latin-1"), ADDRESS)


def test_a_manifest_on_disk_may_not_name_images_elsewhere():
    for image in ("../secret/1.png", "/etc/1.png", "https://b/1.png"):
        assert "name no image" in refusal(f"images/1.png,a\n{image},b\n", "data/manifest.csv")


def test_a_complaint_shows_three_lines_and_no_more():
    message = refusal("gs://bkt/0,a\n" + "".join(f"{i}.png,a\n" for i in range(9)))
    assert "line 2" in message
    assert "line 4" in message
    assert "line 5" not in message


def test_rejections_are_json_lines():
    line = Rejection(12, "gs://bkt/é.png", "3", 'a "quoted" reason').to_json()
    assert json.loads(line) == {
        "line": 12,
        "uri": "gs://bkt/é.png",
        "label": "3",
        "reason": 'a "quoted" reason',
    }
    assert "é" in line


names = (
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)
    .map(str.strip)
    .filter(lambda name: name and not name.endswith("/"))
)


@given(st.lists(st.tuples(names, names)))
def test_every_line_becomes_a_row_or_a_rejection(lines):
    def quoted(field):
        return '"' + field.replace('"', '""') + '"'

    text = "gs://bkt/first,label\n" + "".join(
        f"{quoted(f'gs://bkt/{key}')},{quoted(label)}\n" for key, label in lines
    )
    manifest = read(text)
    numbers = [row.line for row in manifest.rows] + [r.line for r in manifest.rejected]
    assert sorted(numbers) == list(range(1, len(lines) + 2))
    keys = [row.key for row in manifest.rows]
    assert len(keys) == len(set(keys))


@given(st.binary())
def test_no_bytes_break_the_reader(content):
    with contextlib.suppress(ExportError):
        parse(content, ADDRESS)


def test_the_field_after_the_label_is_the_group():
    text = "gs://bkt/1,a,p1\ngs://bkt/2,b, p2\ngs://bkt/3,a\ngs://bkt/4,b,p1,c\ngs://bkt/1,a,p3\n"
    manifest = parse(text.encode(), ADDRESS, "patient")
    assert [(row.key, row.label, row.group) for row in manifest.rows] == [("2", "b", "p2")]
    assert [(rejection.line, rejection.reason) for rejection in manifest.rejected] == [
        (1, "contradictory groups for one key: 'p1' on line 1, 'p3' on line 5"),
        (3, "no patient after the label"),
        (4, "several labels; an image has one"),
        (5, "contradictory groups for one key: 'p1' on line 1, 'p3' on line 5"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gs://bkt/1,a\ngs://bkt/2,b\n", "none of 2 lines has a field (patient) after its label"),
        ("test,gs://bkt/1,a,p1\n", "and the file's split (patient) decides them too: leave one of"),
    ],
)
def test_a_manifest_without_groups_is_refused_where_they_decide(text, message):
    with pytest.raises(ExportError) as refused:
        parse(text.encode(), ADDRESS, "patient")
    assert message in shown(refused.value.text)


def test_days_and_moments_after_the_labels_decide_the_split():
    """A day belongs to the split that begins with it, in UTC."""
    text = (
        "gs://bkt/1,a,2023-12-31\ngs://bkt/2,b,2024-01-01\n"
        "gs://bkt/3,a,2024-02-29T23:59:59\ngs://bkt/4,b,2024-03-01T00:30:00+01:00\n"
        "gs://bkt/5,a,2024-03-01 00:00:00Z\ngs://bkt/6,b,spring\ngs://bkt/7,b,\n"
        "gs://bkt/8,b,0001-01-01T00:00:00+10:00\n"
    )
    days = date(2024, 1, 1), date(2024, 3, 1)
    manifest = parse(text.encode(), ADDRESS, "taken", days=days)
    assert manifest.names_splits
    assert [(row.key, row.split, row.group) for row in manifest.rows] == [
        ("1", "train", None),
        ("2", "validation", None),
        ("3", "validation", None),
        ("4", "validation", None),
        ("5", "test", None),
    ]
    assert [(rejection.line, rejection.reason) for rejection in manifest.rejected] == [
        (6, "taken 'spring' is no day or moment, such as 2024-03-01"),
        (7, "no taken after the label"),
        (8, "taken '0001-01-01T00:00:00+10:00' is no day or moment, such as 2024-03-01"),
    ]


def test_numbers_are_read_as_such():
    text = "gs://bkt/1,3\ngs://bkt/2,-0.5\ngs://bkt/3, 1e3 \ngs://bkt/1,3.0\n"
    manifest = parse(text.encode(), ADDRESS, task=REGRESSION)
    assert [(row.key, row.value) for row in manifest.rows] == [("1", 3), ("2", -0.5), ("3", 1000)]
    assert [(r.line, r.reason) for r in manifest.rejected] == [(4, "same key as line 1")]
    assert all(row.value is None for row in parse(text.encode(), ADDRESS).rows)


@pytest.mark.parametrize("label", ["cat", "nan", "inf", "1_000", "1e39", "-1e39", "0x10", "3 mm"])
def test_a_label_that_is_no_number_is_rejected_where_numbers_are_learned(label):
    manifest = parse(f"gs://bkt/1,3\ngs://bkt/2,{label}\n".encode(), ADDRESS, task=REGRESSION)
    (rejected,) = manifest.rejected
    assert (rejected.line, rejected.label) == (2, label)
    assert rejected.reason == f"label {label!r} is no number that float32 holds"


def test_two_numbers_for_one_image_are_contradictory():
    manifest = parse(b"gs://bkt/1,3\ngs://bkt/1,4\n", ADDRESS, task=REGRESSION)
    assert not manifest.rows
    assert len(manifest.rejected) == 2


def test_a_line_may_have_any_number_of_labels():
    text = "gs://bkt/1,mass,effusion\ngs://bkt/2\ngs://bkt/3,mass,mass\ngs://bkt/1,effusion,mass\n"
    manifest = parse(text.encode(), ADDRESS, task=MULTILABEL)
    assert [(row.key, row.labels) for row in manifest.rows] == [
        ("1", ("effusion", "mass")),
        ("2", ()),
        ("3", ("mass",)),
    ]
    assert [(r.line, r.reason) for r in manifest.rejected] == [(4, "same key as line 1")]


def test_the_last_field_is_the_group_of_several_labels():
    text = "gs://bkt/1,mass,effusion,p1\ngs://bkt/2,,p2\ngs://bkt/3,mass,\n"
    manifest = parse(text.encode(), ADDRESS, "patient", MULTILABEL)
    assert [(row.labels, row.group) for row in manifest.rows] == [
        (("effusion", "mass"), "p1"),
        ((), "p2"),
    ]
    assert [(r.line, r.label, r.reason) for r in manifest.rejected] == [
        (3, "mass", "no patient after the label")
    ]


def test_two_sets_of_labels_for_one_image_are_contradictory():
    manifest = parse(b"gs://bkt/1,mass\ngs://bkt/1,mass,effusion\n", ADDRESS, task=MULTILABEL)
    assert not manifest.rows
    assert "contradictory labels" in manifest.rejected[0].reason

import re

import pytest

from tests.trellis.workflow.plans import a_plan
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.layout import Run
from trellis.workflow.lookups.image_manifest import (
    check_contents,
    count,
    fingerprint,
    lines,
)
from trellis.workflow.spec.split import GroupSplit, TimeSplit
from trellis.workflow.stages.automl_images import usable, with_splits
from trellis.workflow.validation.file import with_changes
from trellis_contracts.withheld import shown

AT = "gs://bucket/manifest.csv"
CATS_AND_DOGS = ["gs://bucket/1.png,cat\n", "gs://bucket/2.png,dog\n", "gs://bucket/3.png,cat\n"]
VERSION = {"generation": 1, "crc32c": "abc="}


def contents_of(text, split=None, several=False):
    return count(AT, lines(AT, text), split, several)


@pytest.fixture
def pets(digits):
    """An experiment of two classes and two files."""
    return with_changes(digits, {("source", "shards"): 2})


def test_a_manifest_is_counted():
    contents = contents_of([*CATS_AND_DOGS, "\n"])
    assert (contents.lines, contents.examples) == (3, 3)
    assert contents.classes == {"cat": 2, "dog": 1}


def test_a_split_before_the_image_is_no_label():
    contents = contents_of(["TRAINING,gs://bucket/1.png,cat\n", "test,gs://bucket/2.png,dog\n"])
    assert set(contents.classes) == {"cat", "dog"}


@pytest.mark.parametrize(
    ("words", "splits"),
    [
        (("TRAIN", "VALIDATION", "TEST"), ["training", "validation", "test"]),
        (("training", "Validation", "test"), ["training", "validation", "test"]),
        (("UNASSIGNED", "unassigned", ""), ["", "", ""]),
    ],
)
def test_the_words_of_automl_vision_name_a_split_too(words, splits):
    found = list(lines(AT, [f"{use},gs://bucket/{n}.png,a\n" for n, use in enumerate(words)]))
    assert [line.ml_use for line in found] == splits
    assert [
        image.ml_use
        for image in contents_of(
            [f"{use},gs://bucket/{n}.png,a\n" for n, use in enumerate(words)]
        ).images.values()
    ] == splits


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ["holdout,gs://bucket/1.png,a\n", *CATS_AND_DOGS],
            "1 lines have an ML_USE",
        ),
        (
            ["TEST,gs://bucket/1.png,a\n", "gs://bucket/2.png,b\n"],
            "1 of 2 lines name a split",
        ),
        (
            ["TEST,gs://bucket/1.png,a\n", "UNASSIGNED,gs://bucket/2.png,b\n"],
            "1 of 2 lines name a",
        ),
    ],
)
def test_a_split_is_named_on_every_line_or_on_none(text, message):
    with pytest.raises(SourceError) as refused:
        contents_of(text)
    assert re.search(message, shown(refused.value.text))


def test_lines_that_contradict_one_another_are_no_images():
    contents = contents_of([*CATS_AND_DOGS, "gs://bucket/1.png,dog\n", "gs://bucket/2.png,dog\n"])
    assert set(contents.images) == {"3.png"}.union({"2.png"})
    assert contents.rejected == {
        "contradicts another line of its image": [4, 1],
        "repeats an image": [5],
    }


def test_an_image_without_its_label_is_left_to_the_export():
    contents = contents_of([*CATS_AND_DOGS, "gs://bucket/4.png,\n"])
    assert (contents.lines, contents.examples) == (4, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ([], "manifest.csv is empty"),
        (["\n", "  \n"], "is empty"),
        (["image,label\n", *CATS_AND_DOGS], r"line 1 \('image,label'\) names no image"),
        (["cat,dog,gs://bucket/1.png\n"], "names no image"),
        (["b/1.png,cat\n"], "names no image"),
    ],
)
def test_what_is_no_manifest_is_refused(text, message):
    with pytest.raises(SourceError) as refused:
        contents_of(text)
    assert re.search(message, shown(refused.value.text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (["gs://bucket/1.png\n", "gs://bucket/2.png\n"], "the label column is missing"),
        (["gs://bucket/1.png,cat\n", "gs://bucket/2.png,cat\n"], "of one class, 'cat'"),
        (
            ["gs://bucket/1.png,cat\n"] * 9 + ["gs://bucket/2.png,dog\n"],
            "8 of 10 lines would be",
        ),
    ],
)
def test_what_no_training_can_come_of_is_refused(digits, text, message):
    with pytest.raises(SourceError) as refused:
        check_contents(AT, contents_of(text), digits)
    assert re.search(message, shown(refused.value.text))


def test_two_classes_are_enough(pets):
    check_contents(AT, contents_of(CATS_AND_DOGS), pets)


def test_a_binary_task_wants_two_classes(pets):
    binary = with_changes(pets, {("task",): "binary_classification"})
    check_contents(AT, contents_of(CATS_AND_DOGS), binary)
    with pytest.raises(SourceError, match="3 classes"):
        check_contents(AT, contents_of([*CATS_AND_DOGS, "gs://bucket/4.png,fox\n"]), binary)


def test_the_fingerprint_names_the_datasets_content(digits):
    name = fingerprint(AT, VERSION, digits)
    assert fingerprint(AT, VERSION, digits) == name
    others = [
        fingerprint(AT, {**VERSION, "generation": 2}, digits),
        fingerprint(AT, {**VERSION, "crc32c": "def="}, digits),
        fingerprint("gs://bucket/other.csv", VERSION, digits),
        *(
            fingerprint(AT, VERSION, with_changes(digits, {("source", *where): value}))
            for where, value in [
                (("size",), 16),
                (("channels",), 3),
                (("encoding",), "jpeg"),
                (("shards",), 5),
                (("split",), {"train": 70, "validation": 20, "test": 10}),
            ]
        ),
    ]
    two = with_changes(digits, {("task",): "binary_classification"})
    others += [
        fingerprint(AT, VERSION, with_changes(two, {("positive",): positive}))
        for positive in ("ill", "well")
    ]
    assert len({name, *others}) == len(others) + 1


def test_what_does_not_change_the_dataset_does_not_change_its_name(digits):
    name = fingerprint(AT, VERSION, digits)
    for where in [("tune", "epochs"), ("train", "top"), ("seed",), ("generation",)]:
        assert fingerprint(AT, VERSION, with_changes(digits, {where: 2})) == name
    tolerant = with_changes(digits, {("source", "max_rejected"): 0.5})
    assert fingerprint(AT, VERSION, tolerant) == name


def test_groups_after_the_labels_are_counted():
    text = [f"gs://bucket/{n}.png,{'cat' if n % 2 else 'dog'},p{n // 2}\n" for n in range(20)]
    patients = GroupSplit(by="patient")
    contents = contents_of([*text, "gs://bucket/x.png,cat\n"], patients)
    assert (contents.examples, len(contents.groups), contents.ungrouped) == (20, 10, 1)
    with pytest.raises(
        SourceError, match=r"0 groups \(patient\) after the labels, and 3 lines with"
    ):
        contents_of(CATS_AND_DOGS, patients)
    with pytest.raises(SourceError, match=r"line 1 names a split \(ML_USE\), and source.split"):
        contents_of(["test,gs://bucket/1.png,cat,p1\n"], patients)


TAKEN = TimeSplit(time="taken", validation="2024-01-01", test="2024-03-01")
DAYS = [
    "gs://bucket/1.png,cat,2023-12-31\n",
    "gs://bucket/2.png,dog,2024-01-01\n",
    "gs://bucket/3.png,dog,2024-03-01T00:30:00+01:00\n",
    "gs://bucket/4.png,cat,2024-03-01\n",
]


def test_days_after_the_labels_decide_the_split():
    contents = contents_of([*DAYS, "gs://bucket/x.png,cat,spring\n"], TAKEN)
    assert (contents.examples, contents.ungrouped) == (4, 1)
    with pytest.raises(SourceError, match=r"no line of the test split \(taken: validation from 20"):
        contents_of(DAYS[:3], TAKEN)
    with pytest.raises(SourceError, match=r"and 3 lines without a day; expected lines of gs://BUC"):
        contents_of(CATS_AND_DOGS, TAKEN)


def test_automl_gets_the_split_of_the_day(pets, group):
    rule = {"time": "taken", "validation": "2024-01-01", "test": "2024-03-01"}
    plan = a_plan(with_changes(pets, {("source", "split"): rule}), Run("b", "digits", "r"))
    rows = usable(lines(AT, DAYS), set(), grouped=True)
    assert [use for use, _, _ in with_splits(rows, plan, group)] == [
        "training", "validation", "validation", "test",
    ]  # fmt: skip


def test_a_group_is_part_of_the_datasets_name(pets):
    grouped = with_changes(pets, {("source", "split"): {"by": "patient"}})
    assert fingerprint(AT, VERSION, grouped) != fingerprint(AT, VERSION, pets)


def test_automl_gets_the_split_of_the_group():
    text = ["gs://bucket/1.png,cat,p1\n", "gs://bucket/2.png,dog,p1\n", "gs://bucket/3.png,dog,\n"]
    assert usable(lines(AT, text), {"gs://bucket/3.png"}, grouped=True) == [
        ("", "gs://bucket/1.png", "cat", "p1"),
        ("", "gs://bucket/2.png", "dog", "p1"),
    ]
    named = lines(AT, ["test,gs://bucket/1.png,cat\n"])
    assert usable(named, set()) == [("test", "gs://bucket/1.png", "cat", "1.png")]


def test_a_scale_is_part_of_the_datasets_name(pets):
    scales = ["full", "percentiles", {"range": [0, 4095]}, {"range": [0, 4096]}]
    as_png = with_changes(pets, {("source", "encoding"): "png"})
    scaled = [with_changes(as_png, {("source", "scale"): scale}) for scale in scales]
    assert len({fingerprint(AT, VERSION, one) for one in [as_png, *scaled]}) == 5


SITES = ["gs://one/1.png,cat\n", "gs://two/1.png,dog\n", "gs://two/2.png,dog\n"]


def test_a_key_has_its_bucket_where_there_are_several():
    keys = [key for *_, key in usable(lines(AT, SITES), set())]
    assert keys == ["one/1.png", "two/1.png", "two/2.png"]
    assert [key for *_, key in usable(lines(AT, SITES[1:]), set())] == ["1.png", "2.png"]
    # A line that the export rejected names a bucket too.
    assert [key for *_, key in usable(lines(AT, SITES), {"gs://one/1.png"})] == keys[1:]


def test_images_of_several_buckets_are_another_dataset_than_before(pets):
    contents = contents_of(SITES)
    assert contents.buckets == {"one", "two"}
    assert fingerprint(AT, VERSION, pets, 2) != fingerprint(AT, VERSION, pets)
    assert fingerprint(AT, VERSION, pets, 1) == fingerprint(AT, VERSION, pets)


@pytest.fixture
def cells(pets):
    """A regression on images."""
    return with_changes(
        pets,
        {
            ("task",): "regression",
            ("tune",): None,
            ("train",): {"minimize": "rmse", "epochs": 2},
            ("deploy",): None,
        },
    )


def numbered(*labels):
    return contents_of([f"gs://bucket/{n}.png,{label}\n" for n, label in enumerate(labels)])


def test_a_regression_learns_numbers(cells):
    check_contents(AT, numbered("3", "-1.5", "2e3", ".5", "7."), cells)
    few = numbered(*range(30), "n/a")
    check_contents(AT, few, cells)  # less than max_rejected: the export leaves the line out


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ("cat", "dog", "3"),
            r"2 of 3 lines have a label that is no number, such as line 1 \('cat'",
        ),
        (("1", "2", "nan"), r"line 3 \('nan'\), but the task is regression; to learn classes"),
        (("1", "2", "1e39"), r"line 3 \('1e39'\)"),
        (("3", "3.0", "03"), "all labels are one number"),
        (("cat", "cat"), "no number"),
    ],
)
def test_labels_that_no_regression_learns_are_refused(cells, labels, message):
    with pytest.raises(SourceError) as refused:
        check_contents(AT, numbered(*labels), cells)
    assert re.search(message, shown(refused.value.text))


def test_numbers_and_classes_are_two_datasets(pets, cells):
    assert fingerprint(AT, VERSION, cells) != fingerprint(AT, VERSION, pets)


@pytest.fixture
def findings(pets):
    """An experiment on images with any number of classes each."""
    return with_changes(pets, {("task",): "multilabel_classification", ("tune", "maximize"): "auc"})


def test_a_line_counts_for_each_of_its_labels(findings):
    text = [
        "gs://bucket/1.png,mass,effusion\n",
        "gs://bucket/2.png\n",
        "gs://bucket/3.png,mass,mass\n",
    ]
    contents = contents_of(text, several=True)
    assert (contents.examples, dict(contents.classes)) == (3, {"mass": 2, "effusion": 1})
    check_contents(AT, contents, findings)
    assert contents_of(text).examples == 0  # of one class each


def test_the_last_field_is_the_group_of_several_labels():
    text = [f"gs://bucket/{n}.png{',mass' * (n % 3)},p{n // 2}\n" for n in range(20)]
    contents = contents_of(
        [*text, "gs://bucket/x.png,mass,\n"], GroupSplit(by="patient"), several=True
    )
    assert (contents.examples, len(contents.groups), contents.ungrouped) == (20, 10, 1)
    assert dict(contents.classes) == {"mass": 13}


def test_more_labels_than_a_dataset_holds_are_refused(findings):
    contents = contents_of([f"gs://bucket/{n}.png,class {n}\n" for n in range(64)], several=True)
    with pytest.raises(SourceError, match="64 different labels, and a multi-label dataset has up"):
        check_contents(AT, contents, findings)


def test_one_class_and_several_are_two_datasets(pets, findings):
    assert fingerprint(AT, VERSION, findings) != fingerprint(AT, VERSION, pets)

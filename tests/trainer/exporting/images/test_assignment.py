"""Classes, splits and shards follow from the set of lines, and from nothing else."""

from collections import Counter
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.exporting import ExportError
from trainer.exporting.images.assignment import make_plan
from trainer.exporting.images.manifest import parse
from trainer.exporting.settings import ImageExportSettings
from trainer.exporting.splits import buckets
from trellis_contracts.dataset import CLASSIFICATION, GROUP_RULE, SPLITS
from trellis_contracts.dataset_features import Feature
from trellis_contracts.tasks import MULTILABEL, REGRESSION
from trellis_contracts.withheld import shown


def settings(
    shards=4,
    fractions=(80, 10, 10),
    split_by=None,
    task=CLASSIFICATION,
    days=None,
    stratify=False,
    positive=None,
):
    return ImageExportSettings(
        source="gs://bkt/manifest.csv",
        output="gs://bkt/datasets/3f2a/",
        fingerprint="3f2a",
        image=Feature("image", "image", "uint8", "png", (8, 8, 1)),
        shards=shards,
        max_rejected=0.0,
        fractions=fractions,
        split_by=split_by,
        task=task,
        days=days,
        stratify=stratify,
        positive=positive,
    )


def plan_of(lines, **changed):
    how = {name: changed[name] for name in ("split_by", "task", "days") if name in changed}
    manifest = parse("\n".join(lines).encode(), "gs://bkt/manifest.csv", **how)
    return make_plan(manifest, settings(**changed))


def lines_of(count, classes=3):
    return [f"gs://bkt/images/{i}.png,class {i % classes}" for i in range(count)]


def marked_lines(train, validation, test):
    uses = ["training"] * train + ["validation"] * validation + ["test"] * test
    return [f"{use},gs://bkt/{i}.png,{'ab'[i % 2]}" for i, use in enumerate(uses)]


@given(st.integers(100, 400), st.integers(1, 60), st.randoms())
def test_shards_are_near_equal_and_hold_every_line_once(count, shards, random):
    lines = lines_of(count)
    plan = plan_of(lines, shards=shards)
    keys = [row.key for work in plan.work for row in work.rows]
    assert sorted(keys) == sorted(f"images/{i}.png" for i in range(count))
    for split in SPLITS:
        sizes = [len(work.rows) for work in plan.work if work.split == split]
        assert max(sizes) - min(sizes) <= 1
        assert min(sizes) >= 1
    assert len([work for work in plan.work if work.split == "train"]) == shards

    random.shuffle(lines)
    shuffled = plan_of(lines, shards=shards)
    assert [keys_of(work) for work in shuffled.work] == [keys_of(work) for work in plan.work]


def keys_of(work):
    return work.name, work.labels, [row.key for row in work.rows]


def test_every_example_is_in_the_split_of_its_key():
    plan = plan_of(lines_of(1000), fractions=(70, 20, 10))
    for work in plan.work:
        start, end = plan.split.ranges[work.split]
        assert all(start <= bucket < end for bucket in buckets(row.key for row in work.rows))


def test_a_split_that_the_manifest_names_is_kept():
    plan = plan_of(marked_lines(10, 4, 6), shards=2)
    assert plan.split.rule == "column ML_USE"
    assert not plan.split.ranges
    assert [(work.name, len(work.rows)) for work in plan.work] == [
        ("train-00000-of-00002.tfrecord", 5),
        ("train-00001-of-00002.tfrecord", 5),
        ("validation-00000-of-00001.tfrecord", 4),
        ("test-00000-of-00001.tfrecord", 6),
    ]
    assert {row.split for work in plan.work for row in work.rows if work.split == "test"} == {
        "test"
    }


def test_smaller_splits_get_shards_in_proportion():
    names = Counter(work.split for work in plan_of(lines_of(2000), shards=40).work)
    assert names["train"] == 40
    assert 3 <= names["validation"] <= 7
    assert 3 <= names["test"] <= 7


def test_classes_are_in_natural_order():
    lines = [
        f"gs://bkt/{label}/{i}.png,{label}"
        for label in ("10", "9", "b2", "a", "b10")
        for i in range(50)
    ]
    plan = plan_of(lines)
    assert plan.classes == ("9", "10", "a", "b2", "b10")
    for work in plan.work:
        assert [plan.classes[label] for label in work.labels] == [row.label for row in work.rows]


@pytest.mark.parametrize("positive", ["ill", "well"])
def test_the_positive_class_is_the_second(positive):
    lines = [f"gs://bkt/{label}/{i}.png,{label}" for label in ("ill", "well") for i in range(50)]
    plan = plan_of(lines, positive=positive)
    assert plan.classes[1] == positive
    for work in plan.work:
        assert [plan.classes[label] for label in work.labels] == [row.label for row in work.rows]


def test_shards_hold_a_mixture_of_classes():
    sorted_by_class = sorted(lines_of(600), key=lambda line: line.rpartition(",")[2])
    for work in plan_of(sorted_by_class, shards=4).work:
        assert len(set(work.labels)) == 3


def test_positions_count_all_shards():
    work = plan_of(lines_of(200), shards=3).work
    assert [w.position for w in work] == [f"{i + 1} of {len(work)}" for i in range(len(work))]


@pytest.mark.parametrize(
    ("lines", "changed", "message"),
    [
        (lines_of(100, classes=1), {}, "only one label, 'class 0', on all 100 usable lines"),
        (
            ["gs://bkt/1,a", "gs://bkt/1,b"],
            {},
            "no usable line among 2; the first is line 1: contradic",
        ),
        (lines_of(100), {"shards": 99}, "--shards 99 is more than the "),
        (lines_of(3), {}, "split has no example ({'train':"),
        (marked_lines(4, 0, 2), {}, "the validation split has no example"),
        (marked_lines(0, 2, 2), {}, "mark some lines as training"),
        (
            [*marked_lines(4, 2, 2), "test,gs://bkt/x.png,only in test"],
            {},
            "no example in the train split for 1 of 3 classes: 'only in test'",
        ),
    ],
)
def test_a_plan_that_leads_nowhere_is_refused(lines, changed, message):
    with pytest.raises(ExportError) as refused:
        plan_of(lines, **{"shards": 1} | changed)
    assert message in shown(refused.value.text)


@given(st.lists(st.integers(0, 40), min_size=150, max_size=300))
def test_images_of_one_group_are_in_the_split_of_its_hash(patients):
    patients = [*range(60), *patients]
    lines = [f"gs://bkt/{i}.png,{'ab'[i % 2]},p{p}" for i, p in enumerate(patients)]
    plan = plan_of(lines, split_by="patient", fractions=(50, 20, 30))
    assert (plan.split.rule, plan.split.by) == (GROUP_RULE, "patient")
    seen = {}
    for work in plan.work:
        start, end = plan.split.ranges[work.split]
        for row in work.rows:
            assert start <= buckets([row.group]).item() < end
            assert seen.setdefault(row.group, work.split) == work.split
    assert plan.examples("train") + plan.examples("validation") + plan.examples("test") == len(
        lines
    )


def test_each_class_is_divided_by_the_shares():
    """The numbers that snapshot.sql gives a table's rows, which a test of its own has."""
    counts = {"a": 276, "b": 20, "c": 3, "d": 1}
    lines = [f"gs://bkt/{c}{i}.png,{c}" for c, count in counts.items() for i in range(count)]
    plan = plan_of(lines, stratify=True, fractions=(70, 10, 20), shards=2)
    assert (
        plan.split.described == "70/10/20 percent of each class, by rank of FARM_FINGERPRINT(key)"
    )
    found = Counter((row.label, work.split) for work in plan.work for row in work.rows)
    assert found == {
        ("a", "train"): 193, ("a", "validation"): 28, ("a", "test"): 55,
        ("b", "train"): 14, ("b", "validation"): 2, ("b", "test"): 4,
        ("c", "train"): 1, ("c", "validation"): 1, ("c", "test"): 1,
        ("d", "train"): 1,
    }  # fmt: skip
    again = plan_of(lines[::-1], stratify=True, fractions=(70, 10, 20), shards=2)
    assert [keys_of(work) for work in again.work] == [keys_of(work) for work in plan.work]


def test_images_of_the_past_are_learned_from():
    lines = [f"gs://bkt/{i}.png,{'ab'[i % 2]},2024-01-{i + 1:02d}" for i in range(30)]
    days = date(2024, 1, 21), date(2024, 1, 26)
    plan = plan_of(lines, split_by="taken", days=days, shards=1)
    assert plan.split.described == "taken: validation from 2024-01-21, test from 2024-01-26"
    assert [plan.examples(split) for split in SPLITS] == [20, 5, 5]
    with pytest.raises(ExportError, match=r"test split has no example .* taken: validation from"):
        plan_of(lines[:25], split_by="taken", days=days, shards=1)


def test_a_number_is_its_own_label():
    lines = [f"gs://bkt/images/{i}.png,{i / 4}" for i in range(100)]
    plan = plan_of(lines, task=REGRESSION)
    assert plan.classes == ()
    for work in plan.work:
        assert work.task == REGRESSION
        assert [f"images/{int(4 * label)}.png" for label in work.labels] == [
            row.key for row in work.rows
        ]


def test_several_labels_become_a_set():
    lines = [
        f"gs://bkt/images/{i}.png" + ",odd" * (i % 2) + ",third" * (i % 3 == 0) for i in range(100)
    ]
    plan = plan_of(lines, task=MULTILABEL)
    assert plan.classes == ("odd", "third")
    for work in plan.work:
        numbers = [int(row.key.removeprefix("images/").removesuffix(".png")) for row in work.rows]
        assert work.labels == tuple(i % 2 + 2 * (i % 3 == 0) for i in numbers)


def test_more_labels_than_a_set_holds_are_refused():
    lines = [f"gs://bkt/images/{i}.png,class {i % 64}" for i in range(1000)]
    with pytest.raises(
        ExportError, match="64 different labels; a multi-label dataset has up to 63"
    ):
        plan_of(lines, task=MULTILABEL)

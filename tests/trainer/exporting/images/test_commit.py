"""dataset.json is written last and only over a usable dataset; rejected.jsonl always."""

import dataclasses
import json

import pytest

from trainer.exporting import ExportError
from trainer.exporting.images.assignment import Plan
from trainer.exporting.images.commit import commit
from trainer.exporting.images.manifest import Manifest, Rejection
from trainer.exporting.images.shards import ShardResult
from trainer.exporting.settings import ImageExportSettings
from trellis_contracts.dataset import CLASSIFICATION, COLUMN_RULE, DatasetDescription, Shard, Split
from trellis_contracts.dataset_features import Feature
from trellis_contracts.tasks import REGRESSION
from trellis_contracts.withheld import shown

PLAN = Plan(("cat", "dog"), Split(COLUMN_RULE), ())
GOOD = {"train": {0: 3, 1: 5}, "validation": {0: 1, 1: 1}, "test": {0: 2, 1: 1}}


def settings(max_rejected=0.1, task=CLASSIFICATION):
    return ImageExportSettings(
        source="gs://bkt/manifest.csv",
        output="gs://bkt/datasets/3f2a/",
        fingerprint="3f2a",
        image=Feature("image", "image", "uint8", "png", (8, 8, 1)),
        shards=1,
        max_rejected=max_rejected,
        fractions=(80, 10, 10),
        task=task,
    )


def rejection(line, label="dog"):
    return Rejection(line, f"gs://bkt/{line}.png", label, "no such object")


def result(split, class_counts, rejected=(), index=0, count=1):
    shard = Shard(f"{split}-{index:05d}-of-{count:05d}.tfrecord", sum(class_counts.values()), 100)
    return ShardResult(split, shard, class_counts, tuple(rejected))


def results(**changed):
    return [result(split, counts) for split, counts in (GOOD | changed).items()]


def run(shard_results, lines=13, rejected=(), **changed):
    manifest = Manifest((), tuple(rejected), lines, names_splits=True, sha256="00")
    files = {}
    try:
        plan = dataclasses.replace(PLAN, classes=()) if changed.get("task") else PLAN
        commit(settings(**changed), manifest, plan, shard_results, files.__setitem__)
    except ExportError as error:
        return files, shown(error.text)
    return files, None


def test_the_description_adds_up_what_the_shards_report():
    halves = [result("train", {0: 1}, index=1, count=2), result("train", {0: 2, 1: 5}, count=2)]
    files, refused = run([*halves, *results()[1:]])
    assert refused is None
    assert list(files) == ["rejected.jsonl", "dataset.json"]  # in this order
    description = DatasetDescription.from_json(files["dataset.json"].decode())
    assert description.counts["train"].examples == 8
    assert description.counts["train"].classes == {"cat": 3, "dog": 5}
    assert [shard.name for shard in description.files["train"]] == [
        "train-00000-of-00002.tfrecord",
        "train-00001-of-00002.tfrecord",
    ]
    assert description.source == {"manifest": "gs://bkt/manifest.csv", "sha256": "00", "lines": 13}
    assert description.bytes == 400
    assert description.warnings == ()


def test_the_order_in_which_shards_finish_does_not_matter():
    assert run(results()) == run(results()[::-1])


def test_rejections_of_manifest_and_shards_are_written_in_the_order_of_lines():
    shard_results = [*results()[:2], result("test", GOOD["test"], [rejection(9), rejection(3)])]
    files, refused = run(shard_results, lines=40, rejected=[rejection(5)])
    assert refused is None
    written = [json.loads(line) for line in files["rejected.jsonl"].decode().splitlines()]
    assert [entry["line"] for entry in written] == [3, 5, 9]
    assert json.loads(files["dataset.json"])["rejected"] == 3


def test_too_many_rejections_fail_with_the_first_reasons_and_commit_nothing():
    rejected = [rejection(line) for line in range(1, 8)]
    files, refused = run(results(), lines=20, rejected=rejected)
    assert "dataset.json" not in files
    assert len(files["rejected.jsonl"].decode().splitlines()) == 7
    assert "7 of 20 manifest lines are rejected (35.0%; the limit is 10.0%)" in refused
    assert "line 1 gs://bkt/1.png: no such object" in refused
    assert "line 6" not in refused
    assert "and 2 more, all in rejected.jsonl" in refused


@pytest.mark.parametrize(("rejections", "committed"), [(2, True), (3, False)])
def test_the_allowed_share_itself_is_allowed(rejections, committed):
    rejected = [rejection(line) for line in range(1, rejections + 1)]
    files, _ = run(results(), lines=20, rejected=rejected)
    assert ("dataset.json" in files) == committed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"test": {}}, "every image of the test split was rejected; the first is line 1"),
        (
            {"train": {0: 4}},
            "all train images were rejected of 1 of 2 classes: 'dog'; the first is",
        ),
    ],
)
def test_a_dataset_that_lost_a_class_or_split_is_not_committed(changed, message):
    files, refused = run(results(**changed), rejected=[rejection(1)])
    assert message in refused
    assert list(files) == ["rejected.jsonl"]


def test_a_class_that_is_missing_in_test_is_a_warning():
    files, refused = run(results(test={0: 4}))
    assert refused is None
    (warning,) = json.loads(files["dataset.json"])["warnings"]
    assert "1 of 2 classes have no example in the test split ('dog')" in warning


def test_files_that_train_has_too_are_named():
    """Copies within train, or within the other splits, give nothing away."""
    of_split = {
        "train": ((7, ""), (7, ""), (8, "")),
        "validation": ((8, "b.png"), (5, "c.png")),
        "test": ((5, "d.png"), (7, "a.png")),
    }
    found = [dataclasses.replace(r, files=of_split[r.split]) for r in results()]
    files, _ = run(found)
    (warning,) = DatasetDescription.from_json(files["dataset.json"].decode()).warnings
    assert warning.startswith(
        "2 of the 4 images of validation and test are in the train split too, byte for byte, under "
        "another name: 'a.png', 'b.png'; leave"
    )


def test_what_models_are_not_given_is_counted_by_kind():
    of_split = {"train": {"frames": ("c.tif", "a.tif")}, "test": {"frames": ("b.tif",)}}
    of_split["validation"] = {"profile": tuple(f"{n:02d}.jpg" for n in range(12))}
    found = [dataclasses.replace(r, lost=of_split[r.split]) for r in results()]
    files, _ = run(found)
    frames, profiles = DatasetDescription.from_json(files["dataset.json"].decode()).warnings
    assert frames.startswith("3 of 13 images have further frames or pages")
    assert frames.endswith(": 'a.tif', 'b.tif', 'c.tif'")
    assert profiles.startswith("12 of 13 images have a colour profile")
    assert profiles.endswith("'09.jpg', ...")


def numbered(*values):
    """Results of shards of numbers: those of train, and two examples in each other split."""
    train = result("train", {0: len(values)})
    others = [result(split, {0: 2}) for split in ("validation", "test")]
    shards = [dataclasses.replace(each, class_counts={}) for each in (train, *others)]
    return [dataclasses.replace(shards[0], values=values), *shards[1:]]


def test_the_statistics_of_numbers_are_those_of_the_train_split():
    files, refused = run(numbered(1.0, 4.0, 4.0), task=REGRESSION)
    assert refused is None
    description = DatasetDescription.from_json(files["dataset.json"].decode())
    assert (description.task, description.outputs, description.classes) == ("regression", 1, ())
    assert [description.examples(split) for split in ("train", "validation")] == [3, 2]
    statistics = description.label.number_statistics
    assert (statistics.mean, statistics.min, statistics.max) == (3, 1, 4)
    assert statistics.stddev == pytest.approx(2**0.5)


def test_one_number_for_all_train_images_is_refused():
    _, refused = run(numbered(4.0, 4.0), task=REGRESSION)
    assert refused == "the label is 4 for every image of the train split; there is nothing to learn"

import io

import pandas as pd

from tests.contracts.datasets import categorical, dataset, numeric
from tests.trellis.results.writeup.parsed import cells
from tests.wording import says
from trellis.results.writeup import data, methods, tripod


def test_the_counts_by_split_and_class_are_those_of_the_dataset(gather, put):
    made = dataset(numeric("age", [1, 2]), classes={"ill": 1300, "healthy": 200})
    made["counts"]["test"] = {"examples": 40, "classes": {"ill": 31, "healthy": 9}}
    put("digits/datasets/3f2a/dataset.json", made)
    f = gather()
    assert cells(methods.text(f), "class") == [
        ["all", "1,500", "1,500", "40"],
        ["`ill`", "1,300 (86.7%)", "1,300 (86.7%)", "31 (77.5%)"],
        ["`healthy`", "200 (13.3%)", "200 (13.3%)", "9 (22.5%)"],
    ]
    counts = "3,040 examples", "1,500 for train", "1,500 for validation", "40 for test"
    assert says(data.source(f), counts)
    assert "`ill` 1,300 and `healthy` 200" in tripod.text(f)


def test_the_rule_of_the_split_is_told(gather, put):
    shares = {"train": [0, 70], "validation": [70, 85], "test": [85, 100]}
    for split, words in (
        ({"rule": "FARM_FINGERPRINT(key) mod 100", **shares},
         "a hash of each example's key (70% train, 15% validation and 15% test)"),
        ({"rule": "FARM_FINGERPRINT(group) mod 100", "by": "patient", **shares},
         "all examples of one `patient` were in one split"),
        ({"rule": "taken: validation from 2024-01-01, test from 2024-02-01"},
         "a fixed rule (taken: validation from 2024-01-01, test from 2024-02-01)"),
    ):  # fmt: skip
        made = dataset(numeric("age", [1, 2])) | {"split": split}
        put("digits/datasets/3f2a/dataset.json", made)
        assert words in methods.text(gather())


def test_the_dates_of_each_split_are_those_of_its_rows(gather, put, client, bucket):
    """By two files, of which one has no row of a split, and a column that is kept, no feature."""
    days = pd.to_datetime(["2024-03-01", "2023-12-31", "2024-01-05", "2025-01-01"])
    taken = numeric("taken at", [1, 2], kind="timestamp") | {"column": "taken_at"}
    put("digits/datasets/3f2a/dataset.json", dataset(taken))
    for blob in client.list_blobs(bucket, prefix="digits/datasets/3f2a/source/"):
        blob.delete()
    rows = pd.DataFrame(
        {
            "key": list("abcd"),
            "split": ["train", "test", "train", "train"],
            "label": "ill",
            "taken_at": days,
            "born": [day.date() for day in days],
            "never": pd.Series([pd.NaT] * 4),
        }
    )
    for part, some in enumerate((rows[:2], rows[2:])):
        sink = io.BytesIO()
        some.to_parquet(sink)
        put(f"digits/datasets/3f2a/source/rows-{part}.parquet", sink.getvalue())
    f = gather()
    assert {one.column: one.by_split for one in f.dates} == {
        "taken at": {
            "train": ("2024-01-05T00:00:00", "2025-01-01T00:00:00"),
            "test": ("2023-12-31T00:00:00", "2023-12-31T00:00:00"),
        }
    }
    dates = "2024-01-05T00:00:00 to 2025-01-01T00:00:00"
    assert says(methods.text(f), "`taken at`", f"{dates} in train")

    # Rows that are gone leave the dates open.
    for blob in client.list_blobs(bucket, prefix="digits/datasets/3f2a/source/"):
        blob.delete()
    assert data.dates(gather()).startswith("[OPEN: dates")


def test_groups_are_counted_beside_their_rows(gather, put, client, bucket):
    """Patients of two visits and one, in two files that share one of them."""
    by = {"rule": "FARM_FINGERPRINT(group) mod 100", "by": "patient"}
    put("digits/datasets/3f2a/dataset.json", dataset(numeric("age", [1, 2])) | {"split": by})
    for blob in client.list_blobs(bucket, prefix="digits/datasets/3f2a/source/"):
        blob.delete()
    assert "how many values of `patient`" in data.source(gather())
    splits = ["train"] * 4 + ["validation", "test"]
    rows = pd.DataFrame({"split": splits, "split_by": ["p1", "p2", "p1", "p1", "p3", "p4"]})
    for part, some in enumerate((rows[:2], rows[2:])):
        sink = io.BytesIO()
        some.to_parquet(sink)
        put(f"digits/datasets/3f2a/source/rows-{part}.parquet", sink.getvalue())
    told = "They are of 4 values of `patient`, 2 for train, 1 for validation and 1 for test."
    assert told in methods.text(gather())
    assert told in tripod.text(gather())


def test_missing_values_are_those_of_the_training_split(gather, put):
    ages, sites = numeric("age", [1, 2], missing=100), categorical("site", "aab", missing=250)
    put("digits/datasets/3f2a/dataset.json", dataset(ages, sites))
    f = gather()
    assert says(methods.text(f), "2 of 2 predictors", "at most 25.0% (`site`)")
    (told,) = (row[2] for row in cells(tripod.text(f), "item") if row[0] == "11")
    assert "[OPEN: why they are missing]" in told
    put("digits/datasets/3f2a/dataset.json", dataset(numeric("age", [1, 2])))
    (told,) = (row[2] for row in cells(tripod.text(gather()), "item") if row[0] == "11")
    assert told == "No predictor had missing values in the training split."

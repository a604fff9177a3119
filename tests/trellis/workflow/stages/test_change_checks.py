"""Changes between two datasets, and differences that are none."""

import random

from tests.contracts.datasets import IMAGE, categorical, dataset, numeric
from tests.wording import says
from trellis.workflow.spec.changes import Changes
from trellis.workflow.stages.change_checks import judge
from trellis_contracts import documents
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.withheld import shown

LIMITS = Changes()


def told(before, now, limits=LIMITS):
    datasets = (DatasetDescription.from_document(content) for content in (before, now))
    return [(found.check, found.feature, shown(found.text)) for found in judge(*datasets, limits)]


def only(found, check, feature):
    """The text of the only finding."""
    ((found_check, found_feature, text),) = found
    assert (found_check, found_feature) == (check, feature)
    return text


def normal(seed, mean=0.0, stddev=1.0, count=1000):
    source = random.Random(seed)
    return [source.gauss(mean, stddev) for _ in range(count)]


def with_feature(feature):
    return dataset(feature)


def test_the_datasets_of_these_tests_are_of_the_exports_form():
    features = [numeric("x", [1, 2]), categorical("c", "aab"), numeric("s", [1], kind="sequence")]
    documents.check("dataset", dataset(*features), "here")
    documents.check("dataset", dataset(numeric("x", [1]), label=[1.0, 2.0]), "here")
    documents.check("dataset", dataset(IMAGE), "here")


def test_a_dataset_has_not_changed_from_itself():
    same = dataset(numeric("x", normal(1)), categorical("c", "aab" * 300), label=normal(2))
    assert told(same, same) == []


def test_more_and_fewer_examples():
    many, few = dataset(IMAGE), dataset(IMAGE, classes={"a": 200, "b": 200})
    text = only(told(many, few), "examples", None)
    assert says(text, "1,000", "400", "2.5 times fewer", "limit is 2")
    text = only(told(few, many), "examples", None)
    assert "2.5 times more" in text
    assert told(few, many, Changes(examples=2.5)) == []


def test_classes_come_go_and_change_their_shares():
    before = dataset(IMAGE, classes={"cat": 500, "dog": 500})
    moved = told(before, dataset(IMAGE, classes={"cat": 620, "dog": 380}))
    text = only(moved, "classes", "y")
    assert text == (
        "label 'y': the share of class cat was 50.0%, and is 62.0%; the limit is 10 points"
    )
    new = told(before, dataset(IMAGE, classes={"cat": 500, "fox": 500}))
    assert [text for _, _, text in new] == [
        "label 'y' has new classes: 'fox'",
        "label 'y' no longer has: 'dog'",
    ]


def test_columns_come_go_and_change_their_type():
    before = dataset(numeric("x", [1, 2]), numeric("y", [1, 2]), numeric("z", [1, 2]))
    now = dataset(numeric("x", [1, 2]), categorical("y", "ab"), numeric("w", [1, 2]))
    changed, new, gone = told(before, now)
    assert changed[:2] == ("columns", "y")
    assert says(changed[2], "'y'", "numeric", "categorical")
    assert new == ("columns", "w", "feature 'w' is new")
    assert gone == ("columns", "z", "feature 'z' is no longer there")


def test_missing_values():
    values = normal(1, count=800)
    before, now = numeric("x", normal(1)), numeric("x", values, missing=200)
    text = only(told(with_feature(before), with_feature(now)), "missing", "x")
    expected = "the share of missing values was 0.0%, and is 20.0%; the limit is 10 points"
    assert text == f"feature 'x': {expected}"


def test_a_mean_that_moves_and_a_distribution_that_keeps_its_mean():
    before = with_feature(numeric("x", normal(1)))
    (mean,) = told(before, with_feature(numeric("x", normal(2, mean=0.7))))
    assert mean[0] == "mean"
    assert "standard deviations above" in mean[2]
    halves = [-1.0, 1.0] * 500
    (shape,) = told(before, with_feature(numeric("x", halves)))
    assert shape[0] == "numbers"
    assert "Jensen-Shannon divergence" in shape[2]


def test_a_number_that_was_constant_is_measured_too():
    before = with_feature(numeric("x", [0.1] * 1000))
    assert told(before, before) == []
    found = told(before, with_feature(numeric("x", [0.1] * 900 + [5.0] * 100)))
    assert [check for check, _, _ in found] == ["mean"]


def test_categories_by_the_largest_difference_of_a_share():
    before = with_feature(categorical("c", "a" * 600 + "b" * 400))
    (found,) = told(before, with_feature(categorical("c", "a" * 350 + "b" * 650)))
    assert found[0] == "categories"
    assert "'a' was 60.0%, and is 35.0%" in found[2] or "'b' was 40.0%, and is 65.0%" in found[2]
    (new,) = told(before, with_feature(categorical("c", "a" * 700 + "z" * 300)))
    assert "'b' was 40.0%, and is 0.0%" in new[2]


def test_a_term_that_a_full_vocabulary_left_out_is_not_taken_for_absent():
    before = with_feature(categorical("c", "a" * 400 + "b" * 310 + "c" * 290, keep=2))
    now = with_feature(categorical("c", "a" * 400 + "b" * 290 + "c" * 310, keep=2))
    assert told(before, now) == []


def test_booleans_sequences_timestamps_and_the_label():
    flags = [1.0] * 300 + [0.0] * 700
    before = with_feature(numeric("f", flags, kind="boolean"))
    (found,) = told(before, with_feature(numeric("f", [1 - f for f in flags], kind="boolean")))
    assert says(found[2], "'f'", "true", "30.0%", "70.0%")
    before = with_feature(numeric("s", normal(1), kind="sequence"))
    moved = with_feature(numeric("s", normal(2, mean=2), kind="sequence"))
    assert {check for check, _, _ in told(before, moved)} == {"mean", "numbers"}
    before = with_feature(numeric("t", normal(1), kind="timestamp"))
    assert told(before, with_feature(numeric("t", normal(2, mean=9), kind="timestamp"))) == []
    before, now = dataset(label=normal(1)), dataset(label=normal(2, mean=2))
    assert {(check, name) for check, name, _ in told(before, now)} == {
        ("mean", "y"),
        ("numbers", "y"),
    }


def test_small_samples_of_one_population_have_not_changed():
    """With no limit but chance, few of 300 pairs of 60 rows with three features are told of."""
    limits = Changes(missing=0, mean=0, numbers=0, categories=0, classes=0)

    def sample(seed):
        source = random.Random(seed)
        missing = sum(source.random() < 0.1 for _ in range(60))
        return dataset(
            numeric("x", [source.gauss(5, 2) for _ in range(60 - missing)], missing),
            numeric("n", [source.expovariate(1) for _ in range(60)]),
            categorical("c", source.choices("abc", [6, 3, 1], k=60)),
            examples=60,
        )

    found = [told(sample(2 * i), sample(2 * i + 1), limits) for i in range(300)]
    assert sum(map(bool, found)) <= 6

"""Classes that count more than others: by the balanced rule, by the file, and whether it helps."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from testbed.tables import write_table
from testbed.trainings import arguments
from trainer import dataset_description
from trainer.estimators import run
from trainer.training import TrainingError, class_weights
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts.dataset_features import NUMERIC
from trellis_contracts.hyperparameters import Hyperparameters

ROWS, RARE = 1000, 33


@pytest.fixture(scope="module")
def rare(tmp_path_factory):
    """1,000 rows to train on, 33 of them "yes", which lie two deviations off the others."""
    random = np.random.default_rng(5)
    yes = np.arange(2 * ROWS) % ROWS < RARE
    order = np.concatenate([random.permutation(ROWS), ROWS + random.permutation(ROWS)])
    yes = yes[order]
    columns = {
        name: (NUMERIC, (random.normal(size=2 * ROWS) + 1.4 * yes).tolist()) for name in ("a", "b")
    }
    files = {"train": [ROWS], "validation": [ROWS // 2], "test": [ROWS // 2]}
    labels = ["yes" if one else "no" for one in yes]
    folder = tmp_path_factory.mktemp("datasets") / "rare"
    return write_table(folder, columns, labels, files=files)


def weights(address, text):
    dataset = dataset_description.load(address)
    return class_weights.of(dataset, Hyperparameters(class_weights=text))


def test_balanced_is_as_scikit_learn_has_it(rare):
    labels = ["yes"] * RARE + ["no"] * (ROWS - RARE)
    known = compute_class_weight("balanced", classes=np.array(["no", "yes"]), y=labels)
    assert weights(rare, "balanced") == pytest.approx(known)
    assert weights(rare, "none") is None


def test_a_class_that_is_not_named_counts_1_and_an_unknown_one_is_refused(rare):
    assert weights(rare, '{"yes": 20}') == [1, 20]
    with pytest.raises(TrainingError, match="no class Yes; it has 2 classes"):
        weights(rare, '{"Yes": 20}')


@pytest.fixture
def findings():
    """1,000 examples of a multi-label task: 900 have a mass, 10 a nodule, none a cyst."""
    classes = {"cyst": 0, "mass": 900, "nodule": 10}
    return SimpleNamespace(
        classes=tuple(classes),
        counts={"train": SimpleNamespace(classes=classes)},
        examples=lambda split: {"train": ROWS}[split],
        weight=None,
    )


def test_balanced_is_over_a_class_and_its_absence_if_examples_have_any_number(findings):
    present, absent = class_weights.of_sets(findings, Hyperparameters(class_weights="balanced"))
    for name, count in (("mass", 900), ("nodule", 10)):
        has = np.arange(ROWS) < count
        known = compute_class_weight("balanced", classes=np.array([False, True]), y=has)
        place = findings.classes.index(name)
        assert [absent[place], present[place]] == pytest.approx(known)
    assert np.isfinite([*present, *absent]).all()


def test_balanced_counts_weights_of_examples_if_they_have_any(findings):
    """The weights add up to 2,000; examples with a nodule have 500 of it."""
    of_class = {"cyst": 0.0, "mass": 1000.0, "nodule": 500.0}
    findings.weight = SimpleNamespace(classes=of_class, statistics=SimpleNamespace(mean=2.0))
    present, absent = class_weights.of_sets(findings, Hyperparameters(class_weights="balanced"))
    assert present[1:] == pytest.approx([1, 2])
    assert absent[1:] == pytest.approx([1, 2000 / 3000])


def test_a_named_class_counts_where_an_example_has_it(findings):
    named = Hyperparameters(class_weights='{"nodule": 5}')
    assert class_weights.of_sets(findings, named) == ([1, 1, 5], [1, 1, 1])
    assert class_weights.of_sets(findings, Hyperparameters()) is None
    with pytest.raises(TrainingError, match="no class node; it has 3 classes"):
        class_weights.of_sets(findings, Hyperparameters(class_weights='{"node": 5}'))


@pytest.mark.parametrize(
    ("weights", "low", "high"),
    [pytest.param("none", 0, 0.4, marks=pytest.mark.slow), ("balanced", 0.7, 1)],
)
def test_rare_cases_are_found_if_they_count_more(rare, tmp_path, weights, low, high):
    argv = arguments(
        rare,
        output=tmp_path / weights,
        task="binary_classification",
        class_weights=weights,
        epochs=6,
        learning_rate=0.01,
        units=16,
        outputs="metrics",
    )
    settings = parse_flags(argv, "")
    assert run.train(settings, checked_dataset(settings)) == 0
    metrics = json.loads(settings.places.metrics.read_text())
    assert metrics["hyperparameters"]["class_weights"] == weights
    last = metrics["history"][-1]
    no, yes = dataset_description.load(rare).counts["validation"].classes.values()
    # Of each class so many are found: accuracy is (f_no + f_yes) / (no + yes), and the balanced
    # one (f_no / no + f_yes / yes) / 2.
    found = 2 * last["val_balanced_accuracy"] - last["val_accuracy"] * (no + yes) / no
    assert low <= found / (1 / yes - 1 / no) / yes <= high + 1e-6

"""Experiment files without a mistake, and what a mistake in one is answered with."""

import pytest

from trellis.workflow.spec.problems import FileError
from trellis.workflow.validation.file import load

GOOD = """\
# A good experiment.
# For tests.
owner: lab
budget: 6 USD
source:
  images: manifest.csv
  size: 8
model: dense
task: multiclass_classification
tune:
  maximize: accuracy
  trials: 4
  epochs: 2
  search:
    learning_rate: {from: 1e-4, to: 1e-1, scale: log}
    layers: {from: 1, to: 4}
    optimizer: {choose: [adam, sgd]}
train:
  top: 2
  epochs: 10
"""

TABLE = """\
# A good experiment on a table.
owner: lab
schedule: "@daily"
until: 2024-01-04
budget: 60 USD
source:
  bigquery: research.cells
  key: sample_id
  label: malignant
  features: [radius, "mean texture", stage]
  categorical: [stage]
  partition: measured_on
model: dense
task: binary_classification
tune:
  maximize: auc
  trials: 4
  epochs: 2
  search:
    learning_rate: {from: 1e-4, to: 1e-1, scale: log}
train:
  epochs: 10
baselines:
  bqml: [logistic_reg, boosted_tree_classifier]
  automl: {node_hours: 1.5}
"""

UNTUNED = """\
# Without a search.
owner: lab
budget: 6 USD
source:
  images: manifest.csv
  size: 8
model: dense
task: multiclass_classification
hyperparameters: {learning_rate: 0.01, units: 64}
train:
  maximize: balanced_accuracy
  epochs: 10
"""


def assert_named(write, good, old, new, line, field, message):
    """With `new` in place of `old`, the file is refused for that, at this line and field."""
    assert old in good
    with pytest.raises(FileError) as raised:
        load(write(good.replace(old, new, 1)))
    found = [p for p in raised.value.problems if message in p.message]
    assert found, str(raised.value)
    assert ".".join(map(str, found[0].field)) == field
    assert found[0].line == line

"""A whole run in which the mean of a training and its repeats is better than it: it passes
the gate, follows a poor network by a canary, is put back, explained, and predicts in bulk.
"""

import pytest

from tests.trellis.workflow import platforms, succession
from tests.trellis.workflow.succession import read
from trellis.workflow.validation.file import load, with_changes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

BUCKET = "ensemble-runs"

# A third of what decides cannot be known: networks that begin differently err differently.
EXPERIMENT = """
owner: trellis
schedule: manual
budget: 9 USD
source:
  query: >-
    SELECT CONCAT('s', CAST(n AS STRING)) AS sample_id, SIN(n) AS radius, COS(n * 3) AS texture,
    IF(SIN(n) + COS(n * 3) + SIN(n * n) > 0, 'yes', 'no') AS malignant
    FROM UNNEST(GENERATE_ARRAY(1, 400)) AS n
  key: sample_id
  label: malignant
  shards: 1
model: dense
task: binary_classification
hyperparameters: {units: 64, learning_rate: 0.02, batch_size: 16}
train: {minimize: loss, epochs: 6, seeds: 4, ensemble: true, timeout: 30 minutes}
deploy:
  gate: {require: {auc: 0.7}, beat: nothing}
  canary: [50, 100]
  machines: {type: n1-standard-2}
"""
POOR = {
    ("train",): {"minimize": "loss", "epochs": 1},
    ("hyperparameters", "learning_rate"): 1e-6,
    ("deploy", "gate"): {"require": {"auc": 0.01}, "learned": False},
}


def test_an_ensemble_that_wins_passes_the_gate_and_is_served(google, group, tmp_path):
    (google.buckets / BUCKET).mkdir()
    (tmp_path / "together.yaml").write_text(EXPERIMENT)
    platform = platforms.of_tests(group, bucket=BUCKET)
    whole = load(tmp_path / "together.yaml")
    whole = with_changes(whole, {("predict",): {"query": whole.source.query}})
    _, folder = succession.follow(google, platform, with_changes(whole, POOR), whole)
    board = read(folder / "leaderboard/leaderboard.json")
    alone, together = (read(folder / f"training/{one}/metrics.json") for one in ("1", "ensemble"))
    assert together["validation"]["loss"] < alone["validation"]["loss"]
    promoted = board["promotion"]
    assert (promoted["challenger"], promoted["promoted"]) == ("training/ensemble", True)
    assert len(read(folder / "training/ensemble/model/ensemble.json")["members"]) == 4
    served = succession.check_served(platform, "together", "2", folder)
    assert served.artifact_uri.endswith("training/ensemble/model"), served.artifact_uri
    assert succession.shares(folder) == [50, 100]
    instance = succession.challenger_of(folder).examples[0].instance
    answer = succession.explained(platform, "together", instance)
    assert answer["explanation"]["attributions"].keys() == instance.keys()
    succession.check_bulk(google, platform, whole, folder, "champion", 400)

"""Checkpoints in a folder that can be left half written at any moment."""

import json

import numpy as np
import pytest
import tensorflow as tf

from trainer.training import TrainingError, checkpoints
from trainer.training.checkpoints import Saved

SETTINGS = {"seed": 1, "learning_rate": 0.1}


@pytest.fixture
def variable():
    return tf.Variable([1.0, 2.0])


@pytest.fixture
def save(tmp_path, variable):
    """A function: steps -> a checkpoint whose variable, best weights and progress tell them."""

    def save(step, best=True):
        variable.assign([step, step])
        weights = [np.full(3, step), np.full((2, 2), step)] if best else None
        saved = Saved(SETTINGS, {"step": step}, {"EarlyStopping": {"best": 0.1}}, weights)
        name = checkpoints.name(step, 0)
        checkpoints.save(tmp_path, name, tf.train.Checkpoint(v=variable), saved)
        return tmp_path / name

    return save


def load(tmp_path, variable, name, settings=SETTINGS):
    return checkpoints.load(tmp_path, name, tf.train.Checkpoint(v=variable), settings)


def test_what_was_saved_comes_back(tmp_path, variable, save):
    name = save(20).name
    variable.assign([0.0, 0.0])
    saved = load(tmp_path, variable, name)
    assert variable.numpy().tolist() == [20, 20]
    assert saved.progress == {"step": 20}
    assert saved.callbacks == {"EarlyStopping": {"best": 0.1}}
    assert [weights.shape for weights in saved.best] == [(3,), (2, 2)]


def test_before_the_first_epochs_end_there_are_no_best_weights(tmp_path, variable, save):
    assert load(tmp_path, variable, save(20, best=False).name).best is None


def test_many_arrays_keep_their_order(tmp_path, variable):
    weights = [np.full(1, number) for number in range(12)]
    saved = Saved(SETTINGS, {}, {}, weights)
    checkpoints.save(tmp_path, "step-1", tf.train.Checkpoint(v=variable), saved)
    best = load(tmp_path, variable, "step-1").best
    assert [int(array[0]) for array in best] == list(range(12))


def test_the_newest_complete_one_counts(tmp_path, save):
    assert checkpoints.latest(tmp_path / "nowhere") == checkpoints.NONE
    first, second = save(999), save(1000)
    assert checkpoints.latest(tmp_path) == second.name
    (second / "state.json").unlink()
    assert checkpoints.latest(tmp_path) == first.name


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "variables.index").unlink(),
        lambda folder: (folder / "best.npz").write_bytes(b"half"),
        lambda folder: (folder / "state.json").write_text('{"schema": 1, "progr'),
        lambda folder: (folder / "state.json").write_text(""),
    ],
)
def test_a_damaged_one_does_not_count(tmp_path, save, damage):
    first, second = save(10), save(20)
    damage(second)
    assert checkpoints.latest(tmp_path) == first.name


def test_one_that_was_half_written_can_be_written_again(tmp_path, variable, save):
    half = save(10)
    (half / "state.json").unlink()
    (half / "variables.index").write_bytes(b"half")
    assert load(tmp_path, variable, save(10).name).progress == {"step": 10}


def test_two_are_kept(tmp_path, save):
    for step in (10, 20, 30, 40):
        save(step)
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == [checkpoints.name(30, 0), checkpoints.name(40, 0)]


def test_other_settings_are_refused(tmp_path, variable, save):
    with pytest.raises(TrainingError, match=r"with seed=1; this one has seed=2"):
        load(tmp_path, variable, save(10).name, SETTINGS | {"seed": 2})


def test_the_state_is_a_document(save):
    document = json.loads((save(10) / "state.json").read_text())
    assert document["schema"] == 1
    assert set(document["files"]) == {
        "best.npz",
        "variables.index",
        "variables.data-00000-of-00001",
    }

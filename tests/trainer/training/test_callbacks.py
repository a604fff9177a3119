"""Choice of the best epoch."""

import keras
import pytest

from trainer.training.callbacks import BestEpoch


@pytest.fixture
def follow():
    """A function: rows of (accuracy, loss), patience -> (best epoch from 1, epochs run)."""

    def follow(rows, sign=1, monitor="val_accuracy", patience=3, min_delta=0.0):
        inputs = keras.Input((1,))
        best = BestEpoch(monitor, sign, patience, 0, min_delta)
        best.set_model(keras.Model(inputs, keras.layers.Dense(1)(inputs)))
        best.model.stop_training = False
        best.on_train_begin()
        for epoch, (accuracy, loss) in enumerate(rows):
            best.on_epoch_end(epoch, {"val_accuracy": accuracy, "val_loss": loss})
            if best.model.stop_training:
                break
        return best.best_epoch + 1, epoch + 1

    return follow


def test_the_higher_accuracy_wins_whatever_the_loss(follow):
    assert follow([(0.8, 0.1), (0.9, 0.5), (0.85, 0.05)]) == (2, 3)


def test_of_equal_accuracies_the_lower_loss_wins(follow):
    assert follow([(0.9, 0.5), (1.0, 0.3), (1.0, 0.1), (1.0, 0.2)]) == (3, 4)


def test_an_equal_epoch_with_the_same_loss_is_no_better(follow):
    assert follow([(0.9, 0.5), (0.9, 0.5), (0.9, 0.5), (0.9, 0.5), (0.9, 0.4)]) == (1, 4)


def test_gains_within_min_delta_cost_patience(follow):
    rows = [(0.5, 1), (0.7, 1), (0.75, 1), (0.79, 1), (0.8, 1), (0.95, 1)]
    assert follow(rows) == (6, 6)
    assert follow(rows, min_delta=0.15) == (2, 5)


def test_a_metric_to_minimize(follow):
    assert follow([(0, 0.5), (0, 0.2), (0, 0.3)], sign=-1, monitor="val_loss") == (2, 3)

"""A metrics.json in memory."""

from dataclasses import replace

from trellis_contracts.training import TrainedOn, Training

_TRAINING = Training(
    model="dense",
    task="multiclass_classification",
    metric="accuracy",
    hyperparameters={},
    seed=0,
    strategy="single",
    epochs_run=1,
    best_epoch=1,
    history=({"epoch": 1, "learning_rate": 0.1, "seconds": 1.0},),
    validation={"accuracy": 0.9, "loss": 0.1},
    test=None,
    replicas={},
    weights_sha256="0" * 64,
    parameters=1,
    dataset=TrainedOn("gs://b/datasets/1/", "1"),
)


def a_training(**changes):
    """A training with other fields."""
    return replace(_TRAINING, **changes)

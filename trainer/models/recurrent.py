"""Gated recurrent units (https://arxiv.org/abs/1406.1078) for what depends on a sequence's order.

Each sequence feature has a GRU of its own, since they measure different things, at their own pace.
Its last state stands beside the row's other features in front of the dense model's layers.
"""

import keras
from keras import layers

from trainer.dataset_description import DatasetDescription
from trainer.hyperparameters import Hyperparameters
from trainer.models import inputs
from trainer.models.dense import head, joined


def build(dataset: DatasetDescription, outputs: int, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    row = inputs.table(dataset, h.embedding)
    # Steps without an element leave the state as it is, so batches may be padded to any length.
    states = [layers.GRU(h.gru_units)(s.values, mask=s.mask) for s in row.sequences]
    return keras.Model(row.inputs, head(joined([*row.flat, *states]), outputs, h), name="recurrent")

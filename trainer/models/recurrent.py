"""Gated recurrent units (https://arxiv.org/abs/1406.1078), which use the order of a sequence.

Each sequence feature has its own GRU, since sequences differ in meaning and length. Its last state
is concatenated with the row's other features, and followed by the layers of the dense model.
"""

import keras
from keras import layers

from trainer.dataset_description import DatasetDescription
from trainer.hyperparameters import Hyperparameters
from trainer.models import inputs
from trainer.models.dense import head


def build(dataset: DatasetDescription, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    row = inputs.table(dataset, h.embedding)
    # Masked steps do not change the state, so batches may be padded to any length.
    states = [layers.GRU(h.gru_units)(s.values, mask=s.mask) for s in row.sequences]
    x = inputs.joined([*row.flat, *states])
    return keras.Model(row.inputs, head(x, dataset.outputs, h), name="recurrent")

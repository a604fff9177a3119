"""Recurrent cells, which use the order of a sequence: GRU or LSTM, in one direction or both.

GRU: https://arxiv.org/abs/1406.1078. LSTM: https://doi.org/10.1162/neco.1997.9.8.1735. Both
directions: https://doi.org/10.1109/78.650093.

Each sequence feature has its own cells, since sequences differ in meaning and length, unless
`series` is together. Their last states are concatenated with the row's other features, and followed
by the layers of the dense model.
"""

import keras
from keras import layers

from trainer.models import inputs
from trainer.models.dense import head
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Hyperparameters

_CELLS = {"gru": layers.GRU, "lstm": layers.LSTM}


def build(dataset: DatasetDescription, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    row = inputs.table(dataset, h.embedding)
    states = [_state(steps, h) for steps in row.series(h.series == "together")]
    x = inputs.joined([*row.flat, *states])
    return keras.Model(row.inputs, head(x, dataset.outputs, h), name="recurrent")


def _state(steps: inputs.Steps, h: Hyperparameters) -> keras.KerasTensor:
    """(b, cell_units), twice as wide in both directions."""
    # Masked steps do not change the state, so batches may be padded to any length. cuDNN's kernels
    # take neither empty sequences nor gaps, and no CPU could serve a SavedModel with them.
    cell = _CELLS[h.cell](h.cell_units, use_cudnn=False)
    if h.bidirectional:
        cell = layers.Bidirectional(cell)
    return cell(steps.values, mask=steps.mask)

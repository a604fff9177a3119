"""Makes a dataset with a feature of every kind, and a model of it, where TensorFlow is."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from testbed.predicting import predict
from testbed.tables import mixed_rows
from testbed.untrained import as_if_trained
from tests.trainer.raw_tables import write_with_source
from trainer import dataset_description
from trainer.training import saved_model

NAMES = {"size": "Größe-cm", "taken": "aufgenommen am", "site": "split", "note": "a&b = 50%"}


def main(data: Path, training: Path) -> None:
    """Writes a dataset, and of a training `model/` and predictions.parquet of the test split."""
    columns, labels = mixed_rows(80)
    files = {"train": [50], "validation": [10], "test": [20]}
    address = write_with_source(data, columns, labels, files, names=NAMES)
    dataset = dataset_description.load(address)
    saved_model.export(as_if_trained("recurrent", dataset), dataset, training / "model")
    keys, truth, shares = predict(training / "model", address, dataset, "test")
    made = {
        "key": pa.array(keys),
        "label": pa.array(truth, pa.int32()),
        "probabilities": pa.array(shares.tolist(), pa.list_(pa.float32())),
    }
    metadata = {"schema": "1", "classes": json.dumps(dataset.classes)}
    pq.write_table(pa.table(made, metadata=metadata), training / "predictions.parquet")

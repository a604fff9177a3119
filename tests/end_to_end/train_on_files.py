"""Exports image files of every kind, trains on them and writes what the training predicted.

    python train_on_files.py gs://BUCKET/FOLDER COUNT [SCALE]

Runs in the trainer's environment. COUNT files are the test split, a few more train and validation.
With SCALE, as of trainer.export, deep files are among them.
Leaves below the folder: files/, datasets/1/, training/ with model/, and

    offline.json    {"gs://BUCKET/FOLDER/files/00001.jpg": {"kind": "jpeg",
                     "probabilities": {"china": 0.2, ...}}, ...}
"""

import json
import sys
import tempfile
from pathlib import Path

from testbed.manifests import export_flags
from testbed.trainings import arguments
from tests.trainer.image_files import image_files
from trainer import export, predictions, storage
from trainer.estimators import run
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

SIDE = 48
OTHERS = {"training": 120, "validation": 30}


def write_files(uri, count, deep):
    """Files; returns a manifest's lines, and the kind of each file of the test split by address."""
    lines, kinds = [], {}
    others = [split for split, size in OTHERS.items() for _ in range(size)]
    for number, file in enumerate(image_files(count + len(others), deep)):
        address = f"{uri}/files/{file.name}"
        storage.write_bytes(address, file.data)
        split = others[number] if number < len(others) else "test"
        lines.append(f"{split},{address},{file.label}\n")
        if split == "test":
            kinds[address] = file.kind
    return lines, kinds


def main(uri, count, scale=None):
    """Write, export, train, tell."""
    lines, kinds = write_files(uri, int(count), deep=scale is not None)
    form = {"image_size": SIDE, "max_rejected": 0.0, "scale": scale}
    dataset = f"{uri}/datasets/1/"
    with tempfile.TemporaryDirectory() as folder:
        manifest = Path(folder, "manifest.csv")
        manifest.write_text("".join(lines))
        flags = export_flags(manifest, Path(folder, "dataset"), "1", shards=1, **form)
        assert export.main([*flags, f"--output={dataset}"]) == 0
    output = f"{uri}/training/"
    argv = arguments(dataset, output=output, model="dense", epochs=8)
    settings = parse_flags(argv, "")
    assert run.train(settings, checked_dataset(settings)) == 0
    predicted = predictions.read(storage.local_path(f"{output}predictions.parquet"))
    bucket = uri.split("/")[2]
    offline = {}
    for key, row in zip(predicted.keys, predicted.probabilities.tolist(), strict=True):
        address = f"gs://{bucket}/{key}"
        shares = dict(zip(predicted.classes, row, strict=True))
        offline[address] = {"kind": kinds[address], "probabilities": shares}
    storage.write_text(f"{uri}/offline.json", json.dumps(offline))


if __name__ == "__main__":
    main(*sys.argv[1:])

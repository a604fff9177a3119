"""A trial, or a full training, on the TFRecords: python -m pictures.train --dataset=gs://... ..."""

import time

import numpy as np
from nearest.model import Neighbours

from pictures import columns
from trellis_contracts.program import inputs, outputs, terms

began = time.monotonic()
job = inputs.job()
described = job.description()
(image,) = described.features


def read(split):
    """Keys, pixels, and names of the classes."""
    found = [*job.records(split)]
    keys = [record["key"][0].decode() for record in found]
    labels = [described.classes[record[described.label.name][0]] for record in found]
    return keys, columns(record[image.record_name][0] for record in found), labels


neighbours, power = int(job.hyperparameters["neighbours"]), float(job.hyperparameters["power"])
_, pixels, labels = read("train")
model = Neighbours.fit(pixels, labels, described.classes, neighbours, power)
_, pixels, labels = read("validation")
truth = np.array([described.classes.index(label) for label in labels])
shares = model.predict(pixels)
figures = {
    "accuracy": float((shares.argmax(axis=1) == truth).mean()),
    "loss": float(-np.log(shares[np.arange(len(truth)), truth]).mean()),
}
job.report(figures[job.metric])
if job.whole:
    model.save(job.output / terms.MODEL)
    keys, pixels, _ = read("test")
    outputs.write(
        job,
        keys,
        model.predict(pixels),
        validation=figures,
        seconds=time.monotonic() - began,
        hyperparameters={"neighbours": neighbours, "power": power},
    )

"""A trial, or a full training: python -m hazards.train --dataset=gs://... --ridge=0.1 ..."""

import time

import numpy as np

from hazards import Hazards, at_risk, concordance
from trellis_contracts.program import inputs, outputs, terms

began = time.monotonic()
job = inputs.job()
described, ridge = job.description(), float(job.hyperparameters["ridge"])


def columns(rows):
    return {feature.name: rows[feature.column].to_numpy() for feature in described.features}


def label(rows):
    """Times, and whether the event happened."""
    return rows["label"].to_numpy().astype(float), rows["label_event"].to_numpy() == 1


train, validation = job.rows("train"), job.rows("validation")
model = Hazards.fit(columns(train), *label(train), described.label, ridge)
risks = model.predict(columns(validation))[:, 0]
times, events = label(validation)
total, _, _ = at_risk(risks[:, None], times, np.exp(risks))
figures = {
    "concordance": concordance(risks, times, events),
    "loss": float((np.log(total) - risks)[events].mean()),
}
job.report(figures[job.metric])
if job.whole:
    model.save(job.output / terms.MODEL)
    asked = job.rows(job.held_out)
    outputs.write(
        job,
        asked["key"].to_pylist(),
        model.predict(columns(asked)),
        validation=figures,
        seconds=time.monotonic() - began,
        hyperparameters={"ridge": ridge},
    )

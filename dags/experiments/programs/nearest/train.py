"""A trial, or a full training: python -m nearest.train --dataset=gs://... --neighbours=15 ...

It learns from the columns of numbers.
"""

import time

import numpy as np

from nearest.model import Neighbours
from trellis_contracts.program import inputs, outputs, terms


def main() -> None:
    """Train, and leave what the contract asks for."""
    began = time.monotonic()
    job = inputs.job()
    neighbours = int(job.hyperparameters["neighbours"])
    power = float(job.hyperparameters["power"])
    described = job.description()
    numbers = [feature for feature in described.features if feature.kind == "numeric"]
    names = {feature.column: feature.name for feature in numbers}
    train, validation = job.rows("train"), job.rows("validation")

    def columns(rows):
        return {name: rows[column].to_numpy() for column, name in names.items()}

    labels = train["label"].to_pylist()
    model = Neighbours.fit(columns(train), labels, described.classes, neighbours, power)
    figures = judged(model.predict(columns(validation)), validation["label"].to_pylist(), model)
    job.report(figures[job.metric])
    if not job.whole:
        return
    model.save(job.output / terms.MODEL)
    asked = job.rows(job.held_out)
    outputs.write(
        job,
        asked["key"].to_pylist(),
        model.predict(columns(asked)),
        validation=figures,
        seconds=time.monotonic() - began,
        hyperparameters={"neighbours": neighbours, "power": power},
    )


def judged(probabilities: np.ndarray, labels: list[str], model: Neighbours) -> dict[str, float]:
    """Log loss and AUC, of the second class, by the ranks of its probabilities."""
    truth = np.array([model.classes.index(label) for label in labels])
    loss = -np.log(probabilities[np.arange(len(truth)), truth]).mean()
    scores, positive = probabilities[:, 1], truth == 1
    above = (scores[positive][:, None] > scores[~positive]).mean()
    equal = (scores[positive][:, None] == scores[~positive]).mean()
    return {"loss": float(loss), "auc": float(above + equal / 2)}


if __name__ == "__main__":
    main()

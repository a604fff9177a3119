"""The program of an AutoML job: python -m local_gcp.vertex.automl.train CONFIG.json

CONFIG: {"task": "tabular" or "image", "inputs": TabularInputs or ImageInputs as JSON, "data": ...,
"output": folder}. `data` of a table: the Parquet file of each set, and "left_out", columns that are
no features; of images: {"items": [{"path", "label", "set"}], "ids": {label: AnnotationSpec}}.

The folder, with the model and `result.json` (result.py), is created atomically at the end. So a
killed program can be started again, and does nothing if the folder exists. The test set is only
read when the model is finished.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from local_gcp.vertex import splits
from local_gcp.vertex.automl import candidates, evaluation, features, images, model, search
from local_gcp.vertex.automl.features import DataError
from local_gcp.vertex.automl.inputs import (
    CLASSIFICATION,
    ImageInputs,
    TabularInputs,
    Transformation,
)
from local_gcp.vertex.automl.result import EVALUATED, RESULT, Result
from local_gcp.vertex.automl.search import Data

SEARCH = 0.75
"""Part of the budget that the search may take; the rest is for the final fit."""
SEARCHED, FITTED = 50_000, 200_000
"""Most rows of a set for the search, and most training rows for the final fit;
larger sets are sampled, so that one machine is enough."""
EXPLAINED = 300
"""Rows by which the features' importance is measured."""
MOST_CLASSES = 500
LEAST_ROWS, MOST_COLUMNS = 1000, 1000
"""Google's limits for tables. The first is only reported, so that demos may be smaller."""


def main(config_file: str) -> int:
    """Exit code: 0, or 1 when the data cannot be trained on."""
    config = json.loads(Path(config_file).read_text())
    output = Path(config["output"])
    if output.exists():
        print("the model exists already")
        return 0
    started = time.monotonic()
    work = output.with_name(f"{output.name}.new")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        train = train_table if config["task"] == "tabular" else train_images
        result = train(config["inputs"], config["data"], work, started)
    except DataError as error:
        print(f"error: {error}", flush=True)
        return 1
    (work / RESULT).write_text(json.dumps(dataclasses.asdict(result), indent=1))
    os.rename(work, output)
    print(result.description, flush=True)
    return 0


def train_table(given: dict[str, Any], data: dict[str, Any], work: Path, started: float) -> Result:
    """Search, fit, write the model into `work`, evaluate. `started`: time.monotonic()."""
    sent = [Transformation(**transformation) for transformation in given["transformations"]]
    inputs = TabularInputs(**{**given, "transformations": tuple(sent)})
    training = _read(data["training"])
    chosen = _features(inputs, training, data["left_out"])
    training = _usable(training, inputs)
    if not training.num_rows:
        raise DataError(f"No training row has a value in the target column {inputs.target!r}.")
    encoder = features.Features(training, chosen)
    if not encoder.columns:
        raise DataError("There is no column to predict from.")
    training = training.filter(pa.array(~encoder.incomplete(training)))
    validation = _usable(_read(data["validation"]), inputs)
    validation = validation.filter(pa.array(~encoder.incomplete(validation)))
    classes = _classes(inputs, training, validation)
    parts = [_data(part, encoder, inputs, classes) for part in (training, validation)]

    name = inputs.objective or evaluation.default_objective(inputs.prediction_type, len(classes))
    objective = evaluation.objective(name, inputs.objective_value, len(classes))
    outcome = search.search(
        *(part.sample(SEARCHED) for part in parts),
        inputs.prediction_type,
        len(classes),
        objective,
        candidates.tabular(),
        started + SEARCH * inputs.budget,
        inputs.early_stopping,
        _say,
    )
    every = parts[0] + parts[1]
    estimator, fitted = _fit(outcome, every, inputs.prediction_type, started, inputs.budget)
    trained = model.TabularModel(
        inputs.prediction_type,
        inputs.target,
        encoder,
        estimator,
        classes,
        (0.0, 0.0) if classes else _interval(*outcome.held_out),
    )
    model.save(trained, work)
    result = _result(outcome, fitted, name, objective, started, 1)
    rows = sum(pq.read_metadata(data[name]).num_rows for name in splits.NAMES)
    if rows < LEAST_ROWS:
        result.description += f" Google asks for {LEAST_ROWS} rows or more; these are {rows}."
    test = _known(trained, pq.read_table(data["test"]), inputs)
    predictions, _ = trained.predict(test)
    pq.write_table(test.append_column(*trained.column(predictions)), work / EVALUATED)
    if test.num_rows:
        result.metrics = _metrics(trained, test, inputs)
        result.attributions = attributions(trained, test.slice(0, EXPLAINED), inputs)
    return result


def train_images(given: dict[str, Any], data: dict[str, Any], work: Path, started: float) -> Result:
    """Likewise, for images."""
    inputs = ImageInputs(**given)
    classes = sorted({i["label"] for i in data["items"] if i["label"] and i["set"] != "test"})
    _check_classes(classes, "the images")
    parts = {}
    for name in ("training", "validation"):
        parts[name] = _image_data([i for i in data["items"] if i["set"] == name], classes)
    if not len(parts["training"]):
        raise DataError("No training image has a label and can be decoded.")
    objective = evaluation.objective("minimize-log-loss", None, len(classes))
    outcome = search.search(
        parts["training"],
        parts["validation"],
        CLASSIFICATION,
        len(classes),
        objective,
        candidates.images(),
        started + SEARCH * inputs.budget,
        inputs.early_stopping,
        _say,
    )
    every = parts["training"] + parts["validation"]
    estimator, fitted = _fit(outcome, every, CLASSIFICATION, started, inputs.budget)
    ids = [data["ids"][label] for label in classes]
    model.save(model.ImageModel(estimator, classes, ids), work)
    result = _result(outcome, fitted, "minimize-log-loss", objective, started, inputs.nodes)
    tested = [i for i in data["items"] if i["set"] == "test" and i["label"] in classes]
    test = _image_data(tested, classes)
    if len(test):
        probabilities = search.predict(estimator, test.x, CLASSIFICATION, len(classes))
        specs = [
            {"id": number, "displayName": name} for number, name in zip(ids, classes, strict=True)
        ]
        result.metrics = evaluation.image_classification(test.y, probabilities, specs)
    return result


def attributions(
    trained: model.TabularModel, table: pa.Table, inputs: TabularInputs
) -> dict[str, float]:
    """Attributions by column: its share of the growth of log loss or RMSE when it is shuffled.

    Like Google's, they are not negative and their sum is 1; Google's are Shapley values, these are
    permutation importances: https://cloud.google.com/vertex-ai/docs/tabular-data/classification-regression/evaluate-model
    """
    kind, classes = trained.kind, trained.classes
    data = _data(table, trained.features, inputs, classes)
    name = "minimize-log-loss" if kind == CLASSIFICATION else "minimize-rmse"
    loss = evaluation.objective(name, None, len(classes)).measure
    order = np.random.default_rng(candidates.SEED).permutation(len(data))

    def score(x: np.ndarray) -> float:
        raw = search.predict(trained.estimator, x, kind, len(classes))
        return float(loss(data.y, raw, data.weights))

    result, start, usual = {}, 0, score(data.x)
    columns = trained.features.columns
    for column, block in zip(columns, trained.features.blocks(table), strict=True):
        place = slice(start, start + block.shape[1])
        start = place.stop
        shuffled = data.x.copy()
        shuffled[:, place] = shuffled[order, place]
        result[column] = score(shuffled) - usual
    return shares(result)


def shares(growth: dict[str, float]) -> dict[str, float]:
    """Each column's share of the sum; 0 for a column that makes the model worse."""
    gains = {column: max(0.0, value) for column, value in growth.items()}
    total = sum(gains.values())
    return {column: gain / total if total else 0.0 for column, gain in gains.items()}


def _read(file: str) -> pa.Table:
    """The rows of a set, a sample of a large one; DataError for too many columns."""
    with pq.ParquetFile(file) as rows:
        count, columns = rows.metadata.num_rows, len(rows.schema_arrow)
        if columns > MOST_COLUMNS:
            raise DataError(f"The data has {columns} columns; {MOST_COLUMNS} are allowed.")
        if count <= FITTED:
            return rows.read()
        _say(f"{count} rows: a sample of {FITTED} is used")
        chosen = np.zeros(count, dtype=bool)
        dice = np.random.default_rng(candidates.SEED)
        chosen[dice.choice(count, FITTED, replace=False)] = True
        parts, start = [], 0
        for group in range(rows.num_row_groups):
            table = rows.read_row_group(group)
            mask = chosen[start : start + table.num_rows]
            parts.append(table.filter(pa.array(mask)))
            start += table.num_rows
        return pa.concat_tables(parts)


def _features(inputs: TabularInputs, table: pa.Table, left_out: list[str]) -> list[Transformation]:
    if inputs.target not in table.column_names:
        raise DataError(
            f"There is no target column {inputs.target!r}; there are "
            f"{', '.join(table.column_names)}."
        )
    no_features = {inputs.target, inputs.weight, *left_out}
    chosen = inputs.transformations or [Transformation(name) for name in table.column_names]
    return [t for t in chosen if t.column not in no_features]


def _usable(table: pa.Table, inputs: TabularInputs) -> pa.Table:
    """The rows with a target and a weight above 0."""
    if inputs.prediction_type == CLASSIFICATION:
        keep = table[inputs.target].is_valid().to_numpy(zero_copy_only=False)
    else:
        keep = np.isfinite(features.numbers(table[inputs.target]))
    if inputs.weight:
        keep = keep & (_weights(table, inputs) > 0)
    return table.filter(pa.array(keep))


def _weights(table: pa.Table, inputs: TabularInputs) -> np.ndarray:
    if not inputs.weight:
        return np.ones(table.num_rows)
    if inputs.weight not in table.column_names:
        raise DataError(f"There is no weight column {inputs.weight!r}.")
    weights = features.numbers(table[inputs.weight])
    if not ((weights >= 0) & (weights <= 10_000)).all():
        raise DataError(f"The weight column {inputs.weight!r} must have numbers from 0 to 10000.")
    return weights


def _classes(inputs: TabularInputs, training: pa.Table, validation: pa.Table) -> list[str]:
    if inputs.prediction_type != CLASSIFICATION:
        return []
    parts = (features.texts(part[inputs.target]) for part in (training, validation))
    classes = sorted({label for part in parts for label in part})
    _check_classes(classes, f"the target column {inputs.target!r}")
    return classes


def _check_classes(classes: list[str], where: str) -> None:
    if len(classes) < 2:
        raise DataError(f"There must be two classes or more in {where}; there are {classes}.")
    if len(classes) > MOST_CLASSES:
        raise DataError(f"There are {len(classes)} classes in {where}; {MOST_CLASSES} are allowed.")


def _data(
    table: pa.Table, encoder: features.Features, inputs: TabularInputs, classes: list[str]
) -> Data:
    x, weights = encoder(table), _weights(table, inputs)
    if not classes:
        return Data(x, features.numbers(table[inputs.target]), weights)
    places = {name: place for place, name in enumerate(classes)}
    labels = [places[label] for label in features.texts(table[inputs.target])]
    return Data(x, np.array(labels, dtype=np.int64), weights)


def _image_data(items: list[dict[str, str]], classes: list[str]) -> Data:
    x, y = [], []
    for item in items:
        if item["label"]:
            try:
                x.append(images.pixels(Path(item["path"])))
            except images.ImageError as error:
                print(f"left out: {item['path']}: {error}", flush=True)
                continue
            y.append(classes.index(item["label"]))
    pixels = np.stack(x) if x else np.zeros((0, 3 * images.SIDE**2), dtype=np.float32)
    return Data(pixels, np.array(y, dtype=np.int64), np.ones(len(y)))


def _fit(
    outcome: search.Outcome, data: Data, kind: str, started: float, budget: float
) -> tuple[Any, str]:
    """(the best candidate fitted to all rows, and to which in words), within the budget.

    If not enough time is left, the model of the search is used.
    """
    _say(f"final fit of {outcome.best} to {len(data)} training and validation rows")
    try:
        with search.alarm(started + budget):
            model = search.fit(outcome.best, data, kind)
        return model, f"fitted again to {len(data)} training and validation rows"
    except search.OutOfTimeError:
        if outcome.model is None:
            raise DataError(
                "The training budget was used up before the model was finished."
            ) from None
        return outcome.model, "fitted to the training rows only, for lack of time"


def _interval(values: np.ndarray, predictions: np.ndarray) -> tuple[float, float]:
    below, above = np.quantile(values - predictions, [0.025, 0.975])
    return float(min(below, 0)), float(max(above, 0))


def _known(trained: model.TabularModel, test: pa.Table, inputs: TabularInputs) -> pa.Table:
    """The test rows that can be compared with a prediction."""
    test = _usable(test, inputs)
    test = test.filter(pa.array(~trained.features.incomplete(test)))
    if trained.kind != CLASSIFICATION:
        return test
    known = [label in trained.classes for label in features.texts(test[inputs.target])]
    if not all(known):
        _say(f"{known.count(False)} test rows have a class that no other row has: left out")
    return test.filter(pa.array(known, pa.bool_()))


def _metrics(trained: model.TabularModel, test: pa.Table, inputs: TabularInputs) -> dict[str, Any]:
    raw = trained.raw(test)
    if trained.kind != CLASSIFICATION:
        return evaluation.regression(features.numbers(test[inputs.target]), raw)
    places = {name: place for place, name in enumerate(trained.classes)}
    labels = np.array([places[label] for label in features.texts(test[inputs.target])])
    return evaluation.classification(labels, raw, [{"displayName": c} for c in trained.classes])


def _result(
    outcome: search.Outcome,
    fitted: str,
    name: str,
    objective: search.Objective,
    started: float,
    nodes: int,
) -> Result:
    hours = (time.monotonic() - started) / 3600
    ranked = sorted(outcome.trials, key=lambda trial: objective.loss(trial.score))
    tried = "; ".join(f"{trial.candidate} {trial.score:.4g}" for trial in ranked[:12])
    more = f"; and {len(ranked) - 12} more" if len(ranked) > 12 else ""
    return Result(
        description=(
            "A local emulation of AutoML, not Google's: the best of "
            f"{len(ranked)} scikit-learn models by {name} on {outcome.how}, {fitted}: "
            f"{outcome.best}. Tried, the best first: {tried}{more}."
        ),
        milli_node_hours=math.ceil(hours * 1000 * nodes),
        converged=not outcome.out_of_time,
    )


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

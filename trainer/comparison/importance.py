"""Permutation importance: what the selected training loses without what a feature tells.

The values of one feature change places among the test rows, which leaves their distribution as it
was and breaks their relation to a row; how much worse the model then scores, by the metric of the
ranking, is the feature's importance (Breiman, Machine Learning 45, 2001; scikit-learn's
permutation_importance). The rows go through the served model as a request's do, so that a
feature is a column, whatever becomes of it in the model, also one of images.

Its limit: features with the same information stand in for each other, and may all appear to be
of little use. It is about this model, not about the data.

The interval is that of a paired bootstrap: the model with and without the feature's order is scored
on the same resamples. A permuted row has another's value, and both are a sample; so their pair
counts as often as the two are drawn together. (Of the strongest feature below, by the log loss,
drawing rows alone covered 83 to 86 %.) Groups are drawn where these decide the split. The intervals
do not correct for the number of features.

Percentage of 300 (groups: 150) simulated test splits whose interval, meant for 95 %, covered the
importance in 200,000 rows, for a linear score of three features with weights of 2, 0.5 and 0.1:

                             accuracy     AUC            log loss
    100 rows                 97  98  90   100 100 100    98  99  98
    500                      98  99  99    99  99  99    97  99  99
    800, in groups of 8      97  93  91    97  95  98    95  95  97
"""

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import orjson

from trainer import storage
from trainer.comparison import bootstrap, raw_examples
from trainer.comparison.bootstrap import SEED
from trainer.comparison.held_out_split import HeldOutSplit, HeldOutSplitError
from trainer.comparison.intervals import LEVEL
from trainer.comparison.originals import ImagesByKey
from trainer.comparison.pictures import PictureError, Pictures
from trainer.comparison.raw_examples import RawExamplesError
from trainer.comparison.run_folder import Contender, Run
from trainer.comparison.scoreboard import decimals, estimate
from trainer.families import FAMILIES
from trainer.metrics.decision import Threshold
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import AnyOutcome
from trainer.serving.errors import InvalidRequestError
from trainer.serving.limits import MAX_BATCH, MAX_BATCH_COST
from trainer.serving.model import Model, ModelError, is_model
from trainer.serving.rows import Row
from trainer.storage import StorageError
from trellis_contracts import layout
from trellis_contracts.leaderboard import Estimate, FeatureImportance, Importance
from trellis_contracts.withheld import RowsError, quoted, some_of

PERMUTATIONS = 5
"""Permutations of each feature, as in scikit-learn."""

RESAMPLES = 500

# Rows of the test split that are asked, and predictions in all: minutes of the slowest model.
_MOST_ROWS = 2000
_LEAST_ROWS = 200
_MOST_PREDICTIONS = 500_000
_MOST_PIXELS = 1 << 29

# Rows in one call of the model: bounds its memory.
_AT_ONCE = 256

Columns = dict[str, np.ndarray]
"""Values of the model's inputs, (n, ...) each."""


class ImportanceError(RowsError, ValueError):
    """There is no importance; the message says why."""


def measure(run: Run, contender: Contender, split: HeldOutSplit, metric: Metric) -> Importance:
    """The importance of each feature of a table's training. Imports the library of its model.

    Raises ImportanceError if its model or the raw rows are gone, or the metric is undefined.
    """
    model = _load(layout.trained_model(contender.uri))
    rows = _rows_to_ask(len(split), len(run.dataset.features), model.rows.pixels)
    columns = _columns(model, run, split, rows)
    labels, family = split.labels[rows], FAMILIES[split.family]
    groups = split.groups.subset(rows) if split.groups else None
    threshold = Threshold.of(model.threshold, split.classes) if model.threshold else None

    def outcome(columns: Columns) -> AnyOutcome:
        order = [model.classes.index(name) for name in split.classes]
        answers = family.served(_answers(model, columns), order)
        return family.outcome(labels, answers, groups, threshold, split.label)

    names = {feature.column: feature.name for feature in run.dataset.features}
    inputs = {names[field.column]: field.input for field in model.rows.fields}
    places = decimals(metric, labels)
    found = estimates(columns, inputs, outcome, metric, places)
    features = tuple(
        FeatureImportance(name, loss.value, loss.interval) for name, loss in found.items()
    )
    return Importance(contender.name, metric.name, len(rows), PERMUTATIONS, features)


def estimates(
    columns: Columns,
    inputs: Mapping[str, str],
    outcome: Callable[[Columns], AnyOutcome],
    metric: Metric,
    places: int,
) -> dict[str, Estimate]:
    """Importances by feature, the largest first, with intervals.

    inputs: the column of each feature. outcome: what a model makes of columns. places: decimals.
    Raises ImportanceError if the metric is undefined for these rows.
    """
    whole = outcome(columns)
    score = metric.point(whole)
    if np.isnan(score):
        raise ImportanceError(f"{metric.title} is undefined for the {len(whole.labels)} rows")
    drawn = list(bootstrap.draw(len(whole.labels), RESAMPLES, SEED, whole.groups))
    found = {}
    for number, (name, column) in enumerate(inputs.items()):
        losses, samples = [], []
        for permutation in range(PERMUTATIONS):
            order = np.random.default_rng([SEED, number, permutation]).permutation(
                len(whole.labels)
            )
            permuted = outcome(columns | {column: columns[column][order]})
            losses.append(metric.sign * (score - metric.point(permuted)))
            # A row's value comes from another, which is a sample as well: a pair counts as often as
            # both are drawn together.
            pairs = [weights * weights[order] for weights in drawn]
            lost = _resampled(metric, whole, pairs) - _resampled(metric, permuted, pairs)
            samples.append(metric.sign * lost)
        interval = bootstrap.interval(np.mean(samples, axis=0), LEVEL)
        found[name] = estimate(float(np.mean(losses)), interval, places)
    return dict(sorted(found.items(), key=lambda item: -item[1].value))


def _resampled(metric: Metric, outcome: AnyOutcome, drawn: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([metric.resampled(outcome, weights) for weights in drawn])


def _rows_to_ask(rows: int, features: int, of_images: int = 0) -> np.ndarray:
    """Indices of the test rows that are asked: all, or a sample of them. of_images: pixels of one
    row's images.
    """
    predictions = min(_MOST_PREDICTIONS, _MOST_PIXELS // max(1, of_images))
    most = min(_MOST_ROWS, max(_LEAST_ROWS, predictions // (features * PERMUTATIONS)))
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(SEED).choice(rows, most, replace=False))


def _load(uri: str) -> Model:
    try:
        folder = storage.local_path(uri)
        if not is_model(folder):
            raise ImportanceError(f"there is no model at {uri}")
        return Model.load(folder)
    except (ModelError, StorageError) as error:
        raise ImportanceError(f"{uri} cannot be read: {error}") from error


def _columns(model: Model, run: Run, split: HeldOutSplit, rows: np.ndarray) -> Columns:
    """The inputs of these rows, in their order."""
    keys = split.keys[rows].tolist()
    names = {field.column: field.name for field in model.rows.fields}
    by_column = {feature.column: feature for feature in run.dataset.features}
    fields = [model.rows.fields[place] for place in model.rows.images]
    pictures = Pictures(model, [by_column[field.column] for field in fields])
    found: dict[str, Row] = {}
    try:
        images = ImagesByKey(run.dataset_uri, run.dataset) if fields else None
        examples = raw_examples.of_test_split(run.dataset_uri, run.dataset, names=names, keys=keys)
        while batch := list(itertools.islice(examples, MAX_BATCH)):
            body = orjson.dumps({"instances": [example.instance for example in batch]})
            read = model.rows.read(body).instances
            if images is not None:
                read = [
                    pictures.put(row, images[example.key])
                    for row, example in zip(read, batch, strict=True)
                ]
            found |= zip((example.key for example in batch), read, strict=True)
    except InvalidRequestError as error:
        raise ImportanceError(quoted(str(error), "the raw rows do not fit the model")) from error
    except (RawExamplesError, HeldOutSplitError, PictureError) as error:
        raise ImportanceError(error.text) from error
    if missing := [key for key in keys if key not in found]:
        raise ImportanceError(f"the raw rows lack {some_of(missing, 'key')}")
    return model.columns([found[key] for key in keys])


def _answers(model: Model, columns: Columns) -> Columns:
    size = len(next(iter(columns.values())))
    # As in serving: the images of one call have a bounded size.
    of_images = model.rows.pixels
    many = max(1, min(MAX_BATCH, MAX_BATCH_COST // of_images)) if of_images else _AT_ONCE
    parts = [
        model.answers({name: column[start : start + many] for name, column in columns.items()})
        for start in range(0, size, many)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

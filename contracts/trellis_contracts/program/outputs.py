"""Writes what a program of a group's own must leave; see `terms`. Needs NumPy and pyarrow.

outputs.write(job, probabilities, keys, seconds=12.5, validation={"auc": 0.97, "loss": 0.1})
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trellis_contracts.hyperparameter_field import Value
from trellis_contracts.program import forms, terms
from trellis_contracts.program.inputs import Job
from trellis_contracts.training import TrainedOn, Training

if TYPE_CHECKING:
    import numpy as np


def write(
    job: Job,
    keys: Sequence[str],
    scores: "np.ndarray",
    *,
    validation: Mapping[str, float],
    seconds: float,
    hyperparameters: Mapping[str, Value],
) -> None:
    """Write predictions.parquet and metrics.json, which is last; the model must be there.

    keys, scores: of `job.held_out`, in the task's form (`trellis contract`). validation: figures of
    the validation split, the metric that decides and `loss` among them. seconds: that the training
    took. hyperparameters: that it used. Raises ValueError for what breaks a rule that is known
    here, and on other workers than the first; ContractError for figures that are none.
    """
    if job.workers.rank:
        raise ValueError("of several workers, the first alone (job.workers.rank 0) writes")
    if job.metric not in validation or "loss" not in validation:
        raise ValueError(f"validation: expected {job.metric} and loss; got {sorted(validation)}")
    _predictions(job, keys, scores, job.output / terms.PREDICTIONS)
    name = Path(job.model).name or terms.PROGRAM
    figures = {f"val_{one}": float(value) for one, value in validation.items()}
    training = Training(
        model=name,
        model_sha256=job.model_sha256 or None,
        task=job.task,
        metric=job.metric,
        hyperparameters=dict(hyperparameters),
        seed=job.seed,
        strategy=terms.PROGRAM,
        epochs_run=1,
        best_epoch=1,
        history=({"epoch": 1, "seconds": round(seconds, 3), **figures},),
        validation={one: float(value) for one, value in validation.items()},
        test=None,
        dataset=TrainedOn(job.dataset, job.description().fingerprint),
    )
    address = str(job.output / terms.METRICS)
    Path(address).write_text(training.to_json(address), encoding="utf-8")


def _predictions(job: Job, keys: Sequence[str], scores: "np.ndarray", file: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    form, about = forms.of(job.task), job.description()
    rows, scores = job.rows(job.held_out), np.asarray(scores)
    names = pa.array([str(key) for key in keys], pa.string())
    places = pc.index_in(names, value_set=rows["key"].combine_chunks())
    if places.null_count:
        raise ValueError(f"{places.null_count} keys are not among those: {terms.RULES['keys']}")
    if scores.shape != (expected := (len(names), *form.shape(about))):
        raise ValueError(f"scores: expected {form.scores}: {expected}; got {scores.shape}")
    if not np.isfinite(scores).all():
        raise ValueError(f"scores: expected that {terms.RULES['finite']}")
    header = form.header(about)
    arrays = [names, *form.columns(about, rows.take(places), scores)]
    table = pa.Table.from_arrays(arrays, list(header.columns))
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata(header.metadata), file)

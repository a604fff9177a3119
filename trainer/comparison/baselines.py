"""Turns the baselines of a run, of services and files of predictions, into contenders.

    RUN/baselines/NAME/raw/                  the service's predictions, see `raw_predictions`
    RUN/baselines/NAME/baseline.json         request, duration and evaluation of the service
    RUN/baselines/NAME/predictions.parquet   written here: the predictions in the trainer's format
    RUN/examples/NAME.txt                    written here: keys that its predictions are refused for

baseline.schema.json of trellis_contracts describes baseline.json. A baseline that failed, left no
files, or whose predictions are not for exactly the test split's keys is a failed contender, with
the reason; the comparison of the others goes on.
"""

import dataclasses
from math import isfinite

from trainer import predictions, storage, withheld
from trainer.comparison import raw_predictions
from trainer.comparison.held_out_split import HeldOutSplit, HeldOutSplitError
from trainer.comparison.run_folder import Contender, Run, RunError, read_file
from trainer.prediction_checks import PredictionsError
from trellis_contracts import layout
from trellis_contracts.baseline import Baseline, FeatureWeight


def with_baselines(run: Run, split: HeldOutSplit) -> Run:
    """The run with a contender for every baseline that plan.json names or that has a folder.

    Writes predictions.parquet for each that can be scored.
    """
    expected = run.plan.baselines
    folder = storage.local_path(run.files.baselines)
    found = {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()
    names = [*expected, *sorted(found - set(expected))]
    baselines = [_contender(name, run, split) for name in names]
    return dataclasses.replace(run, contenders=[*run.contenders, *baselines])


def _contender(name: str, run: Run, split: HeldOutSplit) -> Contender:
    uri = run.files.baseline(name)
    contender = Contender(name=f"baselines/{name}", kind=name.partition("-")[0], uri=uri)
    try:
        found = read_file(Baseline, layout.baseline_file(uri))
    except RunError as error:
        return dataclasses.replace(contender, reason=str(error))
    if found is None:
        reason = "there is no baseline.json: its stage did not finish; see the task's log"
        return dataclasses.replace(contender, reason=reason)
    contender = dataclasses.replace(
        contender, baseline=found, seconds=found.seconds, cost_usd=found.cost_usd
    )
    if found.status != "succeeded":
        reason = found.reason or "it failed, and its baseline.json gives no reason"
        return dataclasses.replace(contender, reason=reason)
    try:
        predicted = raw_predictions.read(storage.local_path(contender.uri) / "raw", split)
    except (PredictionsError, HeldOutSplitError) as error:
        reason = ". ".join(withheld.for_log(error, run.files.examples_of(name)))
        return dataclasses.replace(contender, reason=reason)
    predictions.write(storage.local_path(layout.predictions(contender.uri)), predicted)
    return dataclasses.replace(contender, predictions=predicted)


def importances(baseline: Baseline) -> list[FeatureWeight]:
    """The numeric feature importances of a baseline.json, the largest first."""
    found = [one for one in baseline.feature_importance if isfinite(one.weight)]
    return sorted(found, key=lambda one: -abs(one.weight))

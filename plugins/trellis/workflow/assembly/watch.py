"""The DAG watch: looks for the data and champions that experiments wait for."""

from collections.abc import Mapping
from functools import partial

from airflow.sdk import DAG

from trellis.workflow.assembly.alerts import on_failure
from trellis.workflow.assembly.group_dag import group_dag
from trellis.workflow.contracts import assets
from trellis.workflow.lookups import watched
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.schedule import NEW_DATA, after
from trellis.workflow.stages.watch import WatchOperator

NAME = "watch"
PAGE = """\
Looks for what experiments wait for: `schedule: new data` (its table, query or manifest has changed)
and `schedule: new champion of EXPERIMENT`. Each change is one event of an Airflow Asset, and each
event starts one run of the experiments that wait for it; a look that finds nothing new is skipped,
and costs nothing. How often it looks: `watch` of platform.yaml.

An experiment that is paused misses its events: trigger its first run by hand.

**Red:** Google refused a look. It is repeated at the next time; no change is lost.
"""
_ADVICE = "The next look repeats it, and no change is lost. Clear it once the cause is fixed."


def needed(experiments: Mapping[str, Experiment]) -> bool:
    """Return whether any experiment waits for an event of this DAG."""
    return any(map(_waits, experiments.values()))


def build(experiments: Mapping[str, Experiment], platform: Platform) -> DAG:
    """A task for each source and champion that an experiment waits for; they do not wait for one
    another. experiments: all of the group, by name.
    """
    waiting = [experiment for experiment in experiments.values() if _waits(experiment)]
    looks = [
        (assets.source(one.name, platform), partial(watched.source, one, platform))
        for one in waiting
        if one.schedule == NEW_DATA
    ]
    champions = {found.experiment for one in waiting if (found := after(one.schedule))}
    looks += [
        (assets.champion(name, platform), partial(watched.champion, experiments[name], platform))
        for name in sorted(champions & experiments.keys())
    ]
    advice = {_task_id(asset.name): _ADVICE for asset, _ in looks}
    with group_dag(
        platform,
        NAME,
        on_failure(platform, advice),
        description="Looks for new data and champions that experiments wait for",
        doc_md=PAGE,
        schedule=platform.watch.schedule,
        # Two looks at once could both find the same change.
        max_active_runs=1,
        owners=[experiment.owner for experiment in waiting],
    ) as dag:
        for asset, look in looks:
            WatchOperator(task_id=_task_id(asset.name), asset=asset, look=look)
    return dag


def _waits(experiment: Experiment) -> bool:
    # A new dataset's event comes from the run that exports it.
    found = after(experiment.schedule)
    return experiment.schedule == NEW_DATA or (found is not None and found.what == "champion")


def _task_id(name: str) -> str:
    return name.replace(" ", ".")

"""The DAG watch: looks for what experiments wait for, and at what their endpoints were asked."""

from collections.abc import Mapping
from functools import partial

from airflow.sdk import DAG

from trellis.workflow.assembly.alerts import on_failure
from trellis.workflow.assembly.group_dag import group_dag
from trellis.workflow.assembly.notifications import tell
from trellis.workflow.contracts import assets
from trellis.workflow.lookups import watched
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.schedule import NEW_DATA, after
from trellis.workflow.stages.prediction import requests
from trellis.workflow.stages.watch import WatchOperator

NAME = "watch"
PAGE = """\
Looks for what experiments wait for: `schedule: new data` (its table, query or manifest has changed)
and `schedule: new champion of EXPERIMENT`. Each change is one event of an Airflow Asset, and each
event starts one run of the experiments that wait for it; a look that finds nothing new is skipped,
and costs nothing. How often it looks: `watch` of platform.yaml.

Once a day it also compares the requests that endpoints have kept (`deploy.requests`) with what the
served model learned from, and warns. That costs two queries of at most 2 GiB a day and endpoint,
about 0.03 USD, whether or not it succeeds: a comparison that failed is not repeated, and the next
day's takes its requests. Of more than 2 GiB it says once to keep a smaller share, and leaves these
requests out.

An experiment that is paused misses its events: trigger its first run by hand.

**Red:** Google refused a look. It is repeated at the next time (a comparison the next day); no
change is lost.
"""
_ADVICE = "The next look repeats it, and no change is lost. Clear it once the cause is fixed."


def needed(experiments: Mapping[str, Experiment]) -> bool:
    """Return whether any experiment waits for an event of this DAG, or has requests kept."""
    return any(_waits(one) or _keeps_requests(one) for one in experiments.values())


def build(experiments: Mapping[str, Experiment], platform: Platform) -> DAG:
    """A task for each source and champion that an experiment waits for, and for each endpoint that
    keeps requests; they do not wait for one another. experiments: all of the group, by name.
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
    keeping = [one for one in experiments.values() if _keeps_requests(one)]
    advice |= {f"{platform.dag_id(one.name)}.requests": requests.ADVICE for one in keeping}
    with group_dag(
        platform,
        NAME,
        on_failure(platform, advice),
        description="New data and champions that experiments wait for; requests of endpoints",
        doc_md=PAGE,
        schedule=platform.watch.schedule,
        # Two looks at once could both find the same change.
        max_active_runs=1,
        owners=[experiment.owner for experiment in [*waiting, *keeping]],
    ) as dag:
        for asset, look in looks:
            WatchOperator(task_id=_task_id(asset.name), asset=asset, look=look)
        for experiment in keeping:
            requests.task(experiment, platform, partial(tell, platform))
    return dag


def _keeps_requests(experiment: Experiment) -> bool:
    return experiment.deploy is not None and experiment.deploy.requests is not None


def _waits(experiment: Experiment) -> bool:
    # A new dataset's event comes from the run that exports it.
    found = after(experiment.schedule)
    return experiment.schedule == NEW_DATA or (found is not None and found.what == "champion")


def _task_id(name: str) -> str:
    return name.replace(" ", ".")

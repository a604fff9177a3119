"""Filters of runs."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

from trellis.workflow.contracts.record import RunRecord
from trellis.workflow.spec.problems import did_you_mean


class NoRunError(LookupError):
    """There is no such run; the message says which there are."""


@dataclass(frozen=True)
class Selection:
    """Runs must fit all that is not empty. dataset: its fingerprint, or the start of it."""

    experiment: str = ""
    owner: str = ""
    tag: str = ""
    task: str = ""
    dataset: str = ""

    def of(self, runs: Iterable[RunRecord]) -> list[RunRecord]:
        """Return the matching runs, in their order."""
        return [run for run in runs if self._fits(run)]

    def _fits(self, run: RunRecord) -> bool:
        return (
            self.experiment in ("", run.experiment)
            and self.owner in ("", run.owner)
            and (not self.tag or self.tag in run.tags)
            and self.task in ("", run.task)
            and run.dataset.startswith(self.dataset)
        )


FILTERS = tuple(field.name for field in fields(Selection))
"""Names of the filters, in the order in which people are asked."""


def find(runs: Iterable[RunRecord], name: str) -> RunRecord:
    """The run EXPERIMENT/RUN (its id or its folder), or the newest of EXPERIMENT with a result.

    runs: newest first. Raises NoRunError.
    """
    runs = list(runs)
    experiment, _, run = name.partition("/")
    own = [record for record in runs if record.experiment == experiment]
    if not own:
        known = sorted({record.experiment for record in runs})
        meant = did_you_mean(experiment, known)
        raise NoRunError(f"{name}: no run of '{experiment}' is known; {meant}")
    if not run:
        found = [record for record in own if record.result]
    else:
        found = [record for record in own if run in (record.run_id, record.folder)]
    if not found:
        newest = ", ".join(record.folder for record in own[:5])
        what = f"no run '{run}'" if run else "no run with a result"
        raise NoRunError(f"{name}: {experiment} has {what}; its newest are {newest}")
    return found[0]

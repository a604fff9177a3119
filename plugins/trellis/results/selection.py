"""Filters, search and order of runs."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Literal, get_args

from trellis.workflow.contracts.record import RunRecord
from trellis.workflow.spec.problems import did_you_mean


class NoRunError(LookupError):
    """There is no such run; the message says which there are."""


Order = Literal["newest", "oldest", "name", "score", "spent"]

ORDERS: tuple[str, ...] = get_args(Order)
"""Orders of a list of runs, the default first. score: the best first, by metric. spent: the dearest
first.
"""


@dataclass(frozen=True)
class Selection:
    """Runs must fit all that is not empty. dataset: its fingerprint, or the start of it. search:
    words that must all be in what is known of a run, in any case. sort: their order.
    """

    experiment: str = ""
    owner: str = ""
    tag: str = ""
    task: str = ""
    dataset: str = ""
    search: str = ""
    sort: Order = "newest"

    def of(self, runs: Iterable[RunRecord]) -> list[RunRecord]:
        """Return the matching runs in the order of `sort`. runs: newest first."""
        found = [run for run in runs if self._fits(run)]
        if self.sort == "oldest":
            return found[::-1]
        if self.sort == "name":
            return sorted(found, key=lambda run: ((run.name or run.folder).lower(), run.experiment))
        if self.sort == "score":
            return sorted(found, key=_by_score)
        if self.sort == "spent":
            return sorted(found, key=lambda run: -(run.so_far_usd or 0))
        return found

    def _fits(self, run: RunRecord) -> bool:
        return (
            self.experiment in ("", run.experiment)
            and self.owner in ("", run.owner)
            and (not self.tag or self.tag in run.tags)
            and self.task in ("", run.task)
            and run.dataset.startswith(self.dataset)
            and all(word in _text(run) for word in self.search.lower().split())
        )


def _text(run: RunRecord) -> str:
    """What is known of a run, for a search."""
    known = [run.experiment, run.folder, run.run_id, run.user, run.owner, run.model, *run.tags]
    known += [part for note in run.notes for part in (note.name, note.text, note.by)]
    if run.result:
        known += [run.result.winner, run.result.failure]
    if run.failure:
        known += [run.failure.task, run.failure.why]
    return "\n".join(filter(None, known)).lower()


def _by_score(run: RunRecord) -> tuple[bool, str, float]:
    """Scores of two metrics have no order: one metric after the other, runs without any last."""
    if run.result is None:
        return True, "", 0.0
    sign = -1 if run.result.goal == "maximize" else 1
    return False, run.result.title, sign * run.result.value


FILTERS = tuple(field.name for field in fields(Selection) if field.name not in ("search", "sort"))
"""Names of the filters, in the order in which people are asked."""


def find(runs: Iterable[RunRecord], name: str) -> RunRecord:
    """The run EXPERIMENT/RUN (its id, its folder or its name), or the newest of EXPERIMENT with a
    result.

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
        found = [record for record in own if run in (record.run_id, record.folder, record.name)]
    if not found:
        newest = ", ".join(record.folder for record in own[:5])
        what = f"no run '{run}'" if run else "no run with a result"
        raise NoRunError(f"{name}: {experiment} has {what}; its newest are {newest}")
    return found[0]

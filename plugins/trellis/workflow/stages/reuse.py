"""Finds steps of a run that an earlier run has done already. `plan` decides it.

A finished run of the experiment with the same dataset has done a step if the digest of the step's
job is the same, and, of a training, the parameters of its trial. Which trainings there are is known
only after the search, so without a reused search no training is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from trellis.workflow.contracts import digests
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.lookups import documents, pretrained, records, reused, storage
from trellis.workflow.pricing.cost import Cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import choose, repeat, train, tune
from trellis_contracts.files import F
from trellis_contracts.layout import metrics
from trellis_contracts.plan import PlanFile, Reuse
from trellis_contracts.trials import Trials

_LOOKED_AT = 50
"""Latest finished runs on the dataset; each costs a request."""

_TUNING = "tuning"


@dataclass(frozen=True)
class _Earlier:
    """A finished run. digests: of its steps."""

    run: Run
    digests: Mapping[str, str]

    def chosen(self, platform: Platform) -> list[dict[str, Any]]:
        """Return the trials that the run trained in full."""
        trials = _find(platform, Trials, self.run.trials)
        return [one.to_document() for one in trials.chosen] if trials else [train.UNTUNED]


def find(plan: Plan, platform: Platform, why: str | None = None) -> Reuse:
    """Find the steps that the run reuses. plan: without them. why: why the digest of one of its
    images is not known.
    """
    experiment = plan.experiment
    jobs = {"train": train.job(plan, platform, train.UNTUNED)}
    if experiment.tune is not None:
        jobs["tune"] = tune.job(plan, platform)
    files = {
        file: storage.checksum(platform, file)
        for file in pretrained.files(experiment, platform.bucket).values()
    }
    of = {"tune": digests.of_tuning, "train": digests.of_training}
    found = {
        step: of[step](job, experiment.generation, files, plan.images) for step, job in jobs.items()
    }
    own = {step: digest for step, digest in found.items() if digest is not None}
    if not experiment.reuse:
        return Reuse(own)
    if not plan.dataset.exists:
        why = "the dataset is exported again"
        return Reuse(own, remark=why)
    steps = _Search(plan, platform, own).steps()
    return Reuse(own, steps, why or (None if steps else "no finished run has done the same"))


def without_reused(limit: Cost, experiment: Experiment, steps: Mapping[str, str]) -> Cost:
    """Return the limit of cost minus the share of the reused steps."""
    repeats, trainings = train.reused(steps)
    left = {
        # Trainings of other models are never reused.
        "tune": 1 - (_TUNING in steps) / max(1, experiment.searches),
        "train": 1 - trainings / experiment.trainings,
        "repeat": 1 - repeats / max(1, experiment.train.seeds - 1),
    }
    stages = {stage: usd * left.get(stage, 1) for stage, usd in limit.stages.items()}
    return Cost(stages, limit.assumptions)


class _Search:
    """Looks for what a plan's steps can be taken from."""

    def __init__(self, plan: Plan, platform: Platform, own: Mapping[str, str]):
        self.plan, self.platform, self.own = plan, platform, own
        self.found: dict[str, str] = {}
        before = _find(platform, PlanFile, plan.run.plan)
        self.before = before.reuse.steps if before else {}
        self.earlier = list(_finished(plan, platform))

    def steps(self) -> dict[str, str]:
        """Folders of earlier runs by step, as in Reuse."""
        experiment, chosen = self.plan.experiment, [train.UNTUNED]
        if experiment.tune is not None:
            self._take(_TUNING, self._tuning)
            if _TUNING not in self.found:
                return self.found
            chosen = self._chosen()
        for entry in chosen:
            self._take(f"training/{entry['rank']}", partial(self._training, entry))
        every = len(self.found) == len(chosen) + (experiment.tune is not None)
        if every and not experiment.other_models:
            self._repeats(chosen)
        return self.found

    def _take(self, step: str, search: Callable[[], str | None]) -> None:
        """Take over the decision of an earlier plan for a step that the run has begun already:
        nothing is overwritten with another content.
        """
        folder = f"{self.plan.run.uri}{step}/"
        if any(True for _ in storage.each_blob(self.platform, folder)):
            source = self.before.get(step)
            if source is not None and not (self._whole(folder) or self._whole(source)):
                source = None
        else:
            source = search()
        if source is not None:
            self.found[step] = source

    def _whole(self, folder: str) -> bool:
        tuned = folder.endswith(f"/{_TUNING}/")
        mark = reused.trials_beside(folder) if tuned else metrics(folder)
        return storage.exists(self.platform.connection, mark)

    def _tuning(self) -> str | None:
        for earlier in self.earlier:
            folder = earlier.run.tuning
            same = earlier.digests.get("tune", "") == self.own.get("tune")
            if same and self._whole(folder) and self._has_files(folder):
                return folder
        return None

    def _has_files(self, folder: str) -> bool:
        return any(True for _ in storage.each_blob(self.platform, folder))

    def _chosen(self) -> list[dict[str, Any]]:
        """Return the trials that `choose` will find."""
        source = self.found[_TUNING]
        trials = _find(self.platform, Trials, self.plan.run.trials) or _find(
            self.platform, Trials, reused.trials_beside(source)
        )
        if trials is None:
            return []
        losses = {
            trial.id: trial.final.loss
            for trial in trials.trials
            if trial.final and trial.final.loss is not None
        }
        ranked = choose.rank(reused.summary(trials), self.plan.experiment, losses)
        return [one.to_document() for one in ranked.chosen]

    def _training(self, entry: dict[str, Any], seed: int | None = None) -> str | None:
        """Find a training of the same parameters, at any rank; with another seed, if one is
        given.
        """
        for earlier in self.earlier:
            if earlier.digests.get("train", "") != self.own.get("train"):
                continue
            for other in earlier.chosen(self.platform):
                if other["parameters"] != entry["parameters"]:
                    continue
                run, rank = earlier.run, other["rank"]
                folder = run.training(rank) if seed is None else run.repeat(rank, seed)
                if self._whole(folder):
                    return folder
        return None

    def _repeats(self, chosen: Sequence[dict[str, Any]]) -> None:
        seeds = repeat.further_seeds(self.plan.experiment)
        if not seeds or not chosen:
            return
        folders = {}
        for entry in chosen:
            own = self.plan.run.training(entry["rank"])
            folders[entry["rank"]] = (
                own if self._whole(own) else self.found[f"training/{entry['rank']}"]
            )
        best = repeat.best_of(chosen, self.plan, self.platform, folders)
        for seed in seeds:
            step = f"training/{best['rank']}/seeds/{seed}"
            self._take(step, partial(self._training, best, seed))


def _finished(plan: Plan, platform: Platform) -> Iterator[_Earlier]:
    """The latest first."""
    same = [
        record
        for record in records.of_experiment(platform, plan.experiment.name)
        if record.result is not None
        and record.dataset == plan.dataset.fingerprint
        and record.uri != plan.run.uri
    ]
    same.sort(key=lambda record: record.begun or record.created, reverse=True)
    for record in same[:_LOOKED_AT]:
        run = Run(plan.run.bucket, plan.run.experiment, record.folder)
        file = _find(platform, PlanFile, run.plan)
        if file and file.reuse.digests:
            yield _Earlier(run, file.reuse.digests)


def _find(platform: Platform, kind: type[F], address: str) -> F | None:
    """Read a file; None if it is missing or of another version of Trellis."""
    try:
        return documents.find_file(platform, kind, address)
    except AirflowFailException:
        return None

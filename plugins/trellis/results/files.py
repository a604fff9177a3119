"""The files of a single run, read on demand."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from trellis.results.selection import NoRunError
from trellis.workflow.contracts.layout import Run, dataset_rows
from trellis_contracts.approval import Approval
from trellis_contracts.deployment import Deployment
from trellis_contracts.documents import ContractError
from trellis_contracts.files import F
from trellis_contracts.leaderboard import Contender, Leaderboard
from trellis_contracts.plan import PlanFile


@dataclass(frozen=True)
class RunFiles:
    """The content of a run's files, None for one that it did not write.

    problems: files that this version of Trellis cannot read, and why. exported: the run's dataset
    has files. logged: its trials or trainings have files, curves among them. asked: the contender
    that a person wants to see instead of winner and selected training.
    """

    run: Run
    plan: PlanFile | None
    leaderboard: Leaderboard | None
    deployment: Deployment | None
    approval: Approval | None = None
    problems: tuple[str, ...] = ()
    exported: bool = False
    logged: bool = False
    asked: Contender | None = None

    @property
    def shown(self) -> Contender | None:
        """The contender that was asked for, else the winner."""
        return self.asked or self.winner

    @property
    def trained(self) -> Contender | None:
        """The contender that was asked for, else the training that competes."""
        return self.asked or self.selected

    @property
    def winner(self) -> Contender | None:
        """The leaderboard's first contender."""
        return self.leaderboard.first if self.leaderboard else None

    @property
    def selected(self) -> Contender | None:
        """The training that competes."""
        return self.leaderboard.selected if self.leaderboard else None

    @property
    def served(self) -> Contender | None:
        """The model that the run put into service."""
        return self.leaderboard.served(self.deployment) if self.leaderboard else None


def load_files(client: Any, run: Run) -> RunFiles:
    """A run's plan, leaderboard, deployment and approval. client: google.cloud.storage.Client."""
    problems: list[str] = []

    def load(kind: type[F], uri: str) -> F | None:
        try:
            return read_file(client, kind, uri)
        except ContractError as error:
            problems.append(str(error))
            return None

    with ThreadPoolExecutor(5) as pool:
        logged = pool.submit(_any_blob, client, run.tuning, run.trainings)
        plan = pool.submit(load, PlanFile, run.plan)
        leaderboard = pool.submit(load, Leaderboard, run.leaderboard)
        deployment = pool.submit(load, Deployment, run.deployment)
        approval = pool.submit(load, Approval, run.approval)
        planned = plan.result()
        exported = planned is not None and _any_blob(client, planned.dataset.uri)
    found = planned, leaderboard.result(), deployment.result(), approval.result()
    return RunFiles(run, *found, tuple(problems), exported, logged.result())


def with_contender(files: RunFiles, name: str) -> RunFiles:
    """The run with one of its contenders in front. name: as on the leaderboard; empty: none.

    Raises NoRunError if there is none of this name.
    """
    if not name:
        return files
    known = files.leaderboard.contenders if files.leaderboard else ()
    found = [contender for contender in known if contender.name == name]
    if not found:
        there = ", ".join(one.name for one in known) or "no leaderboard yet"
        raise NoRunError(f"{files.run.uri} has no contender '{name}'; it has {there}")
    return replace(files, asked=found[0])


def blob(client: Any, uri: str) -> Any:
    """The object at a gs:// address, whether it exists or not."""
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    return client.bucket(bucket).blob(name)


def each_blob(client: Any, prefix: str, glob: str | None = None) -> Iterator[Any]:
    """The objects whose gs:// addresses start with the prefix, in order. glob: of their names."""
    bucket, _, name = prefix.removeprefix("gs://").partition("/")
    return iter(client.list_blobs(bucket, prefix=name, match_glob=glob))


def frozen_rows(client: Any, plan: PlanFile) -> Iterator[Any]:
    """The Parquet files of the rows that BigQuery froze for a run."""
    return each_blob(client, dataset_rows(plan.dataset.uri).partition("*")[0])


def _any_blob(client: Any, *prefixes: str) -> bool:
    """Return whether there is an object whose address starts with one of the prefixes."""
    for prefix in prefixes:
        bucket, _, name = prefix.removeprefix("gs://").partition("/")
        if any(True for _ in client.list_blobs(bucket, prefix=name, max_results=1)):
            return True
    return False


def read(client: Any, uri: str) -> bytes | None:
    """An object, None if there is none."""
    from google.cloud.exceptions import NotFound

    try:
        content: bytes = blob(client, uri).download_as_bytes()
    except NotFound:
        return None
    return content


def read_file(client: Any, kind: type[F], uri: str) -> F | None:
    """A file; None if there is none. Raises ContractError if it does not match its schema."""
    text = read(client, uri)
    return None if text is None else kind.parse(text, uri)

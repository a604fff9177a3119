"""The files of a single run, read on demand."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from trellis.workflow.contracts import roles
from trellis.workflow.contracts.layout import Run
from trellis_contracts.documents import ContractError, check

_NAMES = ("plan", "leaderboard", "deployment")


@dataclass(frozen=True)
class RunFiles:
    """The content of a run's files, None for one that it did not write.

    problems: files that this version of Trellis cannot read, and why.
    """

    run: Run
    plan: Mapping[str, Any] | None
    leaderboard: Mapping[str, Any] | None
    deployment: Mapping[str, Any] | None
    problems: tuple[str, ...] = ()

    @property
    def winner(self) -> Mapping[str, Any] | None:
        """The leaderboard's first contender."""
        return roles.winner(self.leaderboard) if self.leaderboard else None

    @property
    def selected(self) -> Mapping[str, Any] | None:
        """The training that competes, and alone can be deployed."""
        return roles.selected(self.leaderboard) if self.leaderboard else None

    @property
    def served(self) -> Mapping[str, Any] | None:
        """The model that the run put into service."""
        return roles.served(self.leaderboard, self.deployment) if self.leaderboard else None


def load_files(client: Any, run: Run) -> RunFiles:
    """A run's plan, leaderboard and deployment. client: google.cloud.storage.Client."""
    problems: list[str] = []
    found: dict[str, Mapping[str, Any] | None] = {}
    addresses = [getattr(run, name) for name in _NAMES]
    with ThreadPoolExecutor(len(_NAMES)) as pool:
        texts = list(pool.map(lambda uri: read(client, uri), addresses))
    for name, uri, text in zip(_NAMES, addresses, texts, strict=True):
        found[name] = None
        if text is None:
            continue
        try:
            content = json.loads(text)
            check(name, content, uri)
        except (ValueError, ContractError) as error:
            problems.append(str(error))
        else:
            found[name] = content
    return RunFiles(run, found["plan"], found["leaderboard"], found["deployment"], tuple(problems))


def blob(client: Any, uri: str) -> Any:
    """The object at a gs:// address, whether it exists or not."""
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    return client.bucket(bucket).blob(name)


def each_blob(client: Any, prefix: str) -> Iterator[Any]:
    """The objects whose gs:// addresses start with the prefix, in order."""
    bucket, _, name = prefix.removeprefix("gs://").partition("/")
    return iter(client.list_blobs(bucket, prefix=name))


def read(client: Any, uri: str) -> bytes | None:
    """An object, None if there is none."""
    from google.cloud.exceptions import NotFound

    try:
        content: bytes = blob(client, uri).download_as_bytes()
    except NotFound:
        return None
    return content

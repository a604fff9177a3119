"""The index of all runs, read."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from trellis.google_api import check_emulator
from trellis.workflow.contracts.champion_record import ChampionRecord
from trellis.workflow.contracts.index_document import text_of
from trellis.workflow.contracts.layout import INDEX
from trellis.workflow.contracts.prediction_record import PredictionRecord
from trellis.workflow.contracts.record import Note, NotesRecord, RunRecord
from trellis.workflow.spec import platform

Record = TypeVar("Record", RunRecord, ChampionRecord, PredictionRecord)

_NAME = re.compile(rf"{INDEX}([^/]+)/(runs|rollbacks|reserves|notes|predictions)/([^/]+)\.json")
_KINDS: dict[str, type[RunRecord | NotesRecord | PredictionRecord]] = {
    "runs": RunRecord,
    "notes": NotesRecord,
    "predictions": PredictionRecord,
}
# Fields of an object; a whole resource is five times as long.
_FIELDS = "items(name,generation,metadata),nextPageToken"


@dataclass(frozen=True)
class Index:
    """All runs, versions that people put into service, and batch predictions, newest first.
    unreadable: objects that are no such record. at: when it was read, ISO 8601.
    """

    runs: tuple[RunRecord, ...] = ()
    champions: tuple[ChampionRecord, ...] = ()
    unreadable: tuple[str, ...] = ()
    at: str = ""
    predictions: tuple[PredictionRecord, ...] = ()

    @classmethod
    def of(
        cls,
        runs: Iterable[RunRecord],
        champions: Iterable[ChampionRecord],
        unreadable: Iterable[str],
        at: str,
        predictions: Iterable[PredictionRecord] = (),
    ) -> "Index":
        """Records in any order."""
        return cls(
            tuple(sorted(runs, key=lambda run: (run.created, run.folder), reverse=True)),
            tuple(sorted(champions, key=lambda champion: champion.at, reverse=True)),
            tuple(unreadable),
            at,
            tuple(sorted(predictions, key=lambda one: one.at, reverse=True)),
        )

    def named(self, names: Mapping[str, str]) -> "Index":
        """Return the records of some experiments under other names. names: the other, by
        experiment.
        """
        return Index(
            tuple(_renamed(run, names) for run in self.runs if run.experiment in names),
            tuple(_renamed(one, names) for one in self.champions if one.experiment in names),
            tuple(name for name in self.unreadable if name.split("/")[1] in names),
            self.at,
            tuple(_renamed(one, names) for one in self.predictions if one.experiment in names),
        )


def load_runs(folder: str | Path = "dags", experiment: str | None = None) -> tuple[RunRecord, ...]:
    """All runs of a group, newest first; of one experiment, if it is named.

    folder: of platform.yaml, which names the bucket. The credentials are the application-default
    ones. Raises FileError for a platform.yaml with problems, and Google's exceptions.
    """
    group = platform.load(Path(folder))
    return load_index(client_of(group), group.bucket, experiment).runs


def client_of(group: platform.Platform) -> Any:
    """A client of Cloud Storage with application-default credentials. Raises UnreachableError."""
    from google.cloud.storage import Client

    check_emulator()
    return Client(project=group.project)


def load_index(client: Any, bucket: str, experiment: str | None = None) -> Index:
    """The records of a bucket: one request for each thousand.

    client: google.cloud.storage.Client. Raises Google's exceptions.
    """
    prefix = f"{INDEX}{experiment}/" if experiment else INDEX
    at = datetime.now(UTC).isoformat(timespec="seconds")
    runs: list[RunRecord] = []
    champions: list[ChampionRecord] = []
    notes: dict[tuple[str, str], tuple[Note, ...]] = {}
    predictions: list[PredictionRecord] = []
    unreadable: list[str] = []
    for blob in client.list_blobs(bucket, prefix=prefix, fields=_FIELDS):
        found = _NAME.fullmatch(blob.name)
        if found is None:
            continue
        kind: type[RunRecord | NotesRecord | PredictionRecord | ChampionRecord]
        kind = _KINDS.get(found[2], ChampionRecord)
        try:
            record = kind.model_validate_json(text_of(blob))
        except ValidationError:
            unreadable.append(blob.name)
            continue
        # Rights are those of the experiment in whose folder a record lies.
        if record.experiment != found[1]:
            unreadable.append(blob.name)
        elif isinstance(record, RunRecord):
            runs.append(record)
        elif isinstance(record, NotesRecord):
            notes[record.experiment, record.folder] = record.notes
        elif isinstance(record, PredictionRecord):
            predictions.append(record)
        else:
            champions.append(record)
    noted = (
        run.model_copy(update={"notes": notes.get((run.experiment, run.folder), ())})
        for run in runs
    )
    return Index.of(noted, champions, unreadable, at, predictions)


def run_folders(client: Any, bucket: str, experiment: str) -> Iterator[str]:
    """Names of the folders of an experiment's runs, whether they are in the index or not."""
    prefix = f"{experiment}/runs/"
    for folder in folders(client, bucket, prefix):
        yield folder.removeprefix(prefix).rstrip("/")


def folders(client: Any, bucket: str, prefix: str = "") -> Iterator[str]:
    """Names of the folders directly below a prefix, each with a slash at its end, in order."""
    found = client.list_blobs(bucket, prefix=prefix, delimiter="/", fields="prefixes,nextPageToken")
    for page in found.pages:
        yield from sorted(page.prefixes)


def _renamed(record: Record, names: Mapping[str, str]) -> Record:
    name = names[record.experiment]
    return record if name == record.experiment else record.model_copy(update={"experiment": name})

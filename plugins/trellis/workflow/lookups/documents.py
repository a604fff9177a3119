"""A run's files in Cloud Storage, checked against their schemas when read and when written."""

from typing import Any

from airflow.sdk.exceptions import AirflowFailException
from google.cloud.exceptions import NotFound

from trellis import lineage
from trellis.workflow.lookups import storage
from trellis.workflow.lookups.left import NothingLeftError
from trellis.workflow.spec.platform import Platform
from trellis_contracts.documents import ContractError, check
from trellis_contracts.files import F, File


def write(platform: Platform, kind: str, uri: str, content: Any) -> None:
    """Write a document. Raises ContractError, and writes nothing, if it does not fit its schema."""
    check(kind, content, uri)
    storage.write_json(platform, uri, content)
    lineage.note_written(uri)


def write_file(platform: Platform, uri: str, file: File) -> None:
    """`write` a file of trellis_contracts."""
    write(platform, file.CONTRACT, uri, file.to_document())


_REMEDY = (
    "Airflow and the job image must be of versions that fit each other (platform.yaml: registry); "
    "clear the task that wrote the file once they do."
)


def find(platform: Platform, kind: str, uri: str, remedy: str = _REMEDY) -> Any | None:
    """The document, None if there is no such object.

    Raises AirflowFailException, with the remedy, if it does not fit its schema: a retry would not
    help.
    """
    try:
        content = storage.read_json(platform, uri)
    except NotFound:
        return None
    lineage.note_read(uri)
    try:
        check(kind, content, uri)
    except ContractError as error:
        raise AirflowFailException(f"{error}. {remedy}") from None
    return content


# By kind of document, the task that writes it.
_WRITERS = {
    "approval": "approve",
    "challenger": "compare",
    "dataset": "export",
    "deployment": "deploy.endpoint",
    "leaderboard": "compare",
    "plan": "plan",
    "performance": "score",
    "prediction_plan": "plan",
    "reserve": "resolve",
    "rollback": "resolve",
    "start": "start",
}


def read(platform: Platform, kind: str, uri: str, remedy: str = _REMEDY) -> Any:
    """The document. Raises AirflowFailException if it is missing or does not fit its schema."""
    content = find(platform, kind, uri, remedy)
    if content is None:
        raise NothingLeftError(_WRITERS[kind], uri)
    return content


def find_file(platform: Platform, kind: type[F], uri: str, remedy: str = _REMEDY) -> F | None:
    """`find` the content of a file in its class."""
    content = find(platform, kind.CONTRACT, uri, remedy)
    return None if content is None else kind.from_document(content)


def read_file(platform: Platform, kind: type[F], uri: str, remedy: str = _REMEDY) -> F:
    """`read` the content of a file into its class."""
    return kind.from_document(read(platform, kind.CONTRACT, uri, remedy))

"""The forms of a source: one class for each, by the section of an experiment file that names it."""

import re
from collections.abc import Mapping
from typing import Any

from google.api_core import exceptions

from trellis.bigquery.outcome import may_pass, message_of
from trellis.workflow import sql
from trellis.workflow.contracts import table
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.lookups import bucket_files, own_dataset, storage
from trellis.workflow.lookups.manifest import ManifestForm
from trellis.workflow.lookups.source import Form, Source, dry_run
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.prediction import QueryPredict, TablePredict
from trellis.workflow.spec.source import FilesSource, ImageSource, QuerySource, TableSource

# The end of a statement and comments after it, which cannot be embedded in another statement.
_END = re.compile(r";\s*(?:(?:--|#)[^\n]*\s*)*\Z")


def embeddable(query: str) -> str:
    """A query as it can stand within another one: without what ends a statement."""
    return _END.sub("", query.strip())


class QueryForm(Form):
    """A query."""

    def find(
        self,
        client: Any,
        platform: Platform,
        section: str,
        given: QuerySource | QueryPredict,
        task: str,
    ) -> Source:
        text = embeddable(given.query)
        columns = table.columns(dry_run(client, f"{section}.query", text, text).schema)
        name, rows = f"The query ({section}.query)", f"(\n{text}\n)"
        return Source(client, section, name, rows, columns, query=given.query)


class TableForm(Form):
    """A table or view."""

    def find(
        self,
        client: Any,
        platform: Platform,
        section: str,
        given: TableSource | TablePredict,
        task: str,
    ) -> Source:
        name, where = platform.table(given.bigquery), f"{section}.bigquery"
        known = _table(client, name, where)
        if known.location and known.location.lower() != platform.location.lower():
            raise SourceError(
                f"{name} ({where}) is in {known.location}, and this group works in "
                f"{platform.location} (platform.yaml: location): copy it there"
            )
        columns = table.columns(known.schema)
        return Source(client, section, name, sql.identifier(name), columns, known)


class FilesForm(Form):
    """Files in Cloud Storage."""

    def find(
        self, client: Any, platform: Platform, section: str, given: FilesSource, task: str
    ) -> Source:
        files = self._files(platform, given)
        own_dataset.create(platform)
        known = bucket_files.load(client, platform, files, given.types)
        columns, rows = table.columns(known.schema), sql.identifier(str(known.reference))
        return Source(client, section, files.address, rows, columns, known, version=files.version)

    def version(self, client: Any, platform: Platform, given: FilesSource) -> list[dict[str, Any]]:
        return self._files(platform, given).version

    def _files(self, platform: Platform, given: FilesSource) -> bucket_files.Files:
        return bucket_files.find(storage.client(platform), platform.uri(given.files))


FORMS: Mapping[type, Form] = {
    ImageSource: ManifestForm(),
    TableSource: TableForm(),
    QuerySource: QueryForm(),
    FilesSource: FilesForm(),
    TablePredict: TableForm(),
    QueryPredict: QueryForm(),
}


def _table(client: Any, name: str, where: str) -> Any:
    try:
        known = client.get_table(name)
    except exceptions.NotFound as error:
        raise SourceError(f"There is no table {name} ({where}): {message_of(error)}") from None
    except exceptions.Forbidden as error:
        if may_pass(error):
            raise
        text = f"This project may not see {name} ({where}): {message_of(error)}"
        raise SourceError(text) from None
    except (exceptions.BadRequest, ValueError) as error:
        raise SourceError(f"{name} is no table ({where}): {message_of(error)}") from None
    return known

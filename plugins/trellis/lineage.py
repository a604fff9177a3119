"""Names the tables and files that tasks read and write, in the form of OpenLineage.

An operator says it by Google's addresses, and only the listener of
apache-airflow-providers-openlineage asks: without that provider, or a transport for its events,
nothing here is called. The names follow OpenLineage's conventions where there is one:

==========================================  =============  ===================================
address                                     namespace      name
==========================================  =============  ===================================
PROJECT.DATASET.TABLE, bq://the same        bigquery       PROJECT.DATASET.TABLE
gs://BUCKET/FOLDER/, gs://BUCKET/FILE       gs://BUCKET    FOLDER, FILE
projects/P/locations/R/models/ID@VERSION    vertex_ai      model:P.R.ID.VERSION
projects/P/locations/R/datasets/ID          vertex_ai      dataset:P.R.ID
projects/P/locations/R/endpoints/ID         vertex_ai      endpoint:P.R.ID
==========================================  =============  ===================================

https://openlineage.io/docs/spec/naming has none for Vertex AI. Namespace and name together are the
names that Google's catalog gives to Vertex AI's models and datasets
(https://docs.cloud.google.com/dataplex/docs/fully-qualified-names), formed as those of Pub/Sub,
which both have.
"""

from collections.abc import Iterable
from typing import Any


class Traced:
    """Mixed into an operator whose class at the provider tells no lineage.

    A task that starts or fails has read; one that has succeeded has read and written; one that was
    skipped has done neither.
    """

    def _reads(self) -> Iterable[str]:
        """The addresses of what the task reads, from its rendered fields; "" is left out."""
        return ()

    def _writes(self) -> Iterable[str]:
        """The addresses of what it has written, once it has succeeded."""
        return ()

    def get_openlineage_facets_on_start(self) -> Any:
        return self._datasets(self._reads(), ())

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        # OpenLineage reports a skip as a completion, too.
        if task_instance.state == "skipped":
            return self._datasets((), ())
        return self._datasets(self._reads(), self._writes())

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> Any:
        return self._datasets(self._reads(), ())

    def _datasets(self, reads: Iterable[str], writes: Iterable[str]) -> Any:
        from airflow.providers.openlineage.extractors import OperatorLineage
        from openlineage.client.event_v2 import InputDataset, OutputDataset

        project = getattr(self, "project_id", "")

        def datasets(kind: Any, addresses: Iterable[str]) -> list[Any]:
            found = dict.fromkeys(named(address, project) for address in addresses if address)
            return [kind(namespace=namespace, name=name) for namespace, name in found]

        return OperatorLineage(
            inputs=datasets(InputDataset, reads), outputs=datasets(OutputDataset, writes)
        )


def named(address: str, project_id: str = "") -> tuple[str, str]:
    """Namespace and name of an address. Raises ValueError for one of another form.

    project_id: takes the place of the project's number, which Vertex AI answers with.
    """
    if address.startswith("gs://"):
        from airflow.providers.google.cloud.openlineage.utils import (
            get_namespace_name_from_source_uris,
        )

        # As the provider has the files of BigQuery's jobs: a pattern of files by their folder.
        ((namespace, name),) = get_namespace_name_from_source_uris([address])
        return namespace, name
    if address.startswith("projects/"):
        _, project, _, region, collection, identifier = address.split("/")
        project = project_id if project_id and project.isdigit() else project
        kind = {"models": "model", "datasets": "dataset", "endpoints": "endpoint"}[collection]
        return "vertex_ai", f"{kind}:{project}.{region}.{identifier.replace('@', '.')}"
    table = address.removeprefix("bq://")
    if len(table.split(".")) != 3:
        raise ValueError(f"{address!r} is no address of a table, file or resource of Vertex AI")
    return "bigquery", table


def note_read(uri: str) -> None:
    """Tell that a Python task has read an object of Cloud Storage."""
    _collector().add_input_asset(_NOTED, uri=uri)


def note_written(uri: str) -> None:
    """Tell that a Python task has written an object of Cloud Storage, or bigquery://P/D/T."""
    _collector().add_output_asset(_NOTED, uri=uri)


def note_loaded(uris: Iterable[str], table: str) -> None:
    """Tell that a Python task has loaded objects of Cloud Storage into a table, P.D.T."""
    for uri in uris:
        note_read(uri)
    note_written(f"bigquery://{table.replace('.', '/')}")


_NOTED = object()


def _collector() -> Any:
    from airflow.providers.common.compat.lineage.hook import get_hook_lineage_collector

    return get_hook_lineage_collector()

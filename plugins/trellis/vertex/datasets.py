"""Managed datasets of Vertex AI from Airflow: one per task, created and filled once."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from airflow.providers.google.cloud.hooks.vertex_ai.dataset import DatasetHook
from airflow.providers.google.cloud.links.vertex_ai import VertexAIDatasetLink
from airflow.providers.google.cloud.operators.vertex_ai.dataset import CreateDatasetOperator
from airflow.sdk.exceptions import AirflowSkipException
from google.api_core import exceptions
from google.cloud.aiplatform_v1.types import Dataset, ImportDataConfig

from trellis.identity import KEY_LABEL, job_labels
from trellis.verdict import RETRIED
from trellis.vertex.base import VertexTask
from trellis.vertex.calls import BUSY, CALL_TIMEOUT_SECONDS, REPEATABLE
from trellis.vertex.jobs import parse_message
from trellis.vertex.outcome import VertexJobFailed, VertexJobFailedForGood
from trellis.vertex.stepwise import ended, raise_if_failed
from trellis.vertex.submission import reason
from trellis.vertex.triggers import OperationTrigger
from trellis.waiting import in_task


class DatasetOperator(VertexTask, CreateDatasetOperator):
    """Create one Dataset, import its data, and wait for both, deferred. Returns {"name"}.

    A later attempt finds the dataset by its label, and imports only while it is empty. If an
    import is running already, a second one adds no duplicates: Vertex AI keeps each item once.

    :param dataset: the Dataset (templated), in protobuf's JSON form; None skips the task.
    :param import_configs: ImportDataConfigs (templated); none for a table, which is not copied.
    """

    template_fields: Sequence[str] = (
        *CreateDatasetOperator.template_fields,
        "dataset",
        "import_configs",
    )

    _written: tuple[str, ...] = ()
    # The console has no address for a dataset but the provider's.
    operator_extra_links = CreateDatasetOperator.operator_extra_links

    def __init__(self, *, import_configs: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.import_configs = import_configs

    def execute(self, context: Any) -> Any:
        if self.dataset is None:
            raise AirflowSkipException("This run does not need it.")
        labels = job_labels(context["ti"], self.generation)
        if self._find(labels[KEY_LABEL]) is not None:
            return self._fill(context)
        message = parse_message(Dataset, self.dataset, "dataset")
        message.labels.update(labels)
        request = {"parent": self._parent, "dataset": message}
        return self._wait(context, self._call("create_dataset", request), "created")

    def created(self, context: Any, event: dict[str, Any]) -> Any:
        """The dataset exists, or could not be created."""
        raise_if_failed(event, "create the dataset")
        return self._fill(context)

    def imported(self, context: Any, event: dict[str, Any]) -> Any:
        """The data is imported, or could not be."""
        raise_if_failed(event, "import the data")
        return self._result(context, self._own(context))

    def _reads(self) -> Iterable[str]:
        source = (self.dataset or {}).get("metadata", {}).get("inputConfig", {})
        yield source.get("bigquerySource", {}).get("uri", "")
        yield from source.get("gcsSource", {}).get("uri", ())
        for config in self._imports():
            yield from config.gcs_source.uris

    def _writes(self) -> Iterable[str]:
        return self._written

    def _result(self, context: Any, dataset: Any) -> dict[str, Any]:
        self._written = (dataset.name,)
        VertexAIDatasetLink.persist(context=context, dataset_id=dataset.name.rpartition("/")[2])
        return {"name": dataset.name}

    def _fill(self, context: Any) -> Any:
        dataset = self._own(context)
        if not self.import_configs or dataset.data_item_count:
            return self._result(context, dataset)
        request = {"name": dataset.name, "import_configs": self._imports()}
        return self._wait(context, self._call("import_data", request), "imported")

    def _imports(self) -> list[ImportDataConfig]:
        configs = self.import_configs or ()
        return [parse_message(ImportDataConfig, config, "import") for config in configs]

    def _call(self, method: str, request: dict[str, Any]) -> Any:
        """Start an operation."""
        try:
            return getattr(self._client, method)(request=request, timeout=CALL_TIMEOUT_SECONDS)
        except (exceptions.InvalidArgument, exceptions.PermissionDenied) as error:
            raise VertexJobFailedForGood(
                f"Vertex AI refuses to {method.replace('_', ' ')}: {reason(error)}"
            ) from error
        except BUSY as error:
            raise VertexJobFailed(
                f"Vertex AI could not {method.replace('_', ' ')}: {reason(error)}\n{RETRIED}"
            ) from error

    def _wait(self, context: Any, operation: Any, method_name: str) -> Any:
        name = operation.operation.name
        event = in_task(lambda: ended(self._client, name))
        if event is not None:
            return getattr(self, method_name)(context, event)
        self.defer(
            trigger=OperationTrigger(
                name=name,
                region=self.region,
                poll_interval=self.poll_interval,
                gcp_conn_id=self.gcp_conn_id,
                impersonation_chain=self.impersonation_chain,
            ),
            method_name=method_name,
        )

    def _own(self, context: Any) -> Any:
        dataset = self._find(job_labels(context["ti"], self.generation)[KEY_LABEL])
        if dataset is None:
            raise VertexJobFailed("The dataset of this task is gone: a retry creates it again.")
        return dataset

    def _find(self, key: str) -> Any | None:
        """The newest dataset that carries the task's label."""
        request = {"parent": self._parent, "filter": f"labels.{KEY_LABEL}={key}"}
        found = self._client.list_datasets(request=request, **REPEATABLE)
        newest = max(found, key=lambda dataset: dataset.create_time, default=None)
        # A list does not return all fields of a dataset.
        return self._client.get_dataset(name=newest.name, **REPEATABLE) if newest else None

    @property
    def _parent(self) -> str:
        return f"projects/{self.project_id}/locations/{self.region}"

    @cached_property
    def _client(self) -> Any:
        hook = DatasetHook(
            gcp_conn_id=self.gcp_conn_id, impersonation_chain=self.impersonation_chain
        )
        return hook.get_dataset_service_client(self.region)

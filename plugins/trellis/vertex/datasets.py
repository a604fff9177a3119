"""Managed datasets of Vertex AI from Airflow: one per task, created and filled once."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from airflow.providers.google.cloud.hooks.vertex_ai.dataset import DatasetHook
from airflow.providers.google.cloud.links.vertex_ai import VertexAIDatasetLink
from airflow.providers.google.cloud.operators.vertex_ai.dataset import CreateDatasetOperator
from airflow.sdk.exceptions import AirflowSkipException
from google.cloud.aiplatform_v1.types import Dataset, ImportDataConfig

from trellis.identity import KEY_LABEL, job_labels
from trellis.vertex.calls import CALL_TIMEOUT_SECONDS, REPEATABLE
from trellis.vertex.jobs import parse_message
from trellis.vertex.stepwise import StepwiseOperator, unfinished

_IMPORT = "import the data"


class DatasetOperator(StepwiseOperator, CreateDatasetOperator):
    """Create one Dataset, import its data, and wait for both, deferred. Returns {"name"}.

    A later attempt waits for what an earlier one started, finds the dataset by its label, and
    imports only while it is empty.

    :param dataset: the Dataset (templated), in protobuf's JSON form; None skips the task.
    :param import_configs: ImportDataConfigs (templated); none for a table, which is not copied.
    """

    doing = "create the dataset"
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
        return super().execute(context)

    def _advance(self, context: Any, done: str | None) -> Any:
        labels = job_labels(context["ti"], self.generation)
        # Vertex AI chooses a dataset's ID, and the operation that creates it does not say whose it
        # is: a creation of another task is waited for, too.
        for operation in () if done else unfinished(self._client, self._parent, "CreateDataset"):
            return self._wait(context, operation, None)
        name = self._listed(lambda: self._find(labels[KEY_LABEL]), done)
        if name is None:
            return self._create(context, labels)
        for operation in unfinished(self._client, name, "ImportData"):
            return self._wait(context, operation, None)
        dataset = self._client.get_dataset(name=name, **REPEATABLE)
        if self.import_configs and done != _IMPORT and not dataset.data_item_count:
            request = {"name": name, "import_configs": self._imports()}
            operation = self._client.import_data(request=request, timeout=CALL_TIMEOUT_SECONDS)
            return self._wait(context, operation.operation, _IMPORT)
        self._written = (name,)
        VertexAIDatasetLink.persist(context=context, dataset_id=name.rpartition("/")[2])
        return {"name": name}

    def _create(self, context: Any, labels: dict[str, str]) -> Any:
        message = parse_message(Dataset, self.dataset, "dataset")
        message.labels.update(labels)
        request = {"parent": self._parent, "dataset": message}
        operation = self._client.create_dataset(request=request, timeout=CALL_TIMEOUT_SECONDS)
        return self._wait(context, operation.operation, self.doing)

    def _find(self, key: str) -> str | None:
        """The name of the dataset with the task's label. Of two, as of an attempt whose operation
        Vertex AI did not list, each attempt takes the older.
        """
        request = {"parent": self._parent, "filter": f"labels.{KEY_LABEL}={key}"}
        found = self._client.list_datasets(request=request, **REPEATABLE)
        oldest = min(found, key=lambda dataset: dataset.create_time, default=None)
        return oldest and oldest.name

    def _reads(self) -> Iterable[str]:
        source = (self.dataset or {}).get("metadata", {}).get("inputConfig", {})
        yield source.get("bigquerySource", {}).get("uri", "")
        yield from source.get("gcsSource", {}).get("uri", ())
        for config in self._imports():
            yield from config.gcs_source.uris

    def _writes(self) -> Iterable[str]:
        return self._written

    def _imports(self) -> list[ImportDataConfig]:
        configs = self.import_configs or ()
        return [parse_message(ImportDataConfig, config, "import") for config in configs]

    @cached_property
    def _client(self) -> Any:
        return self._hook(DatasetHook).get_dataset_service_client(self.region)

"""The model registry from Airflow: models that a service of Google's has trained.

An AutoML model is in the registry already, as a model of its own; a BigQuery ML model is in
BigQuery. Either becomes a version of the experiment's model, beside its trainings: by a copy, or by
BigQuery's own registration.
https://cloud.google.com/vertex-ai/docs/model-registry/copy-model
https://cloud.google.com/bigquery/docs/update_vertex
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from airflow.providers.google.cloud.hooks.bigquery import BigQueryHook
from google.cloud.aiplatform_v1.types import Model
from google.cloud.bigquery import QueryJobConfig

from trellis.identity import EXPERIMENT_LABEL, KEY_LABEL, job_labels
from trellis.verdict import JobFailed
from trellis.vertex.calls import CALL_TIMEOUT_SECONDS
from trellis.vertex.jobs import parse_message
from trellis.vertex.models import ModelVersionOperator
from trellis.vertex.registry import (
    AUTOML,
    find_version,
    find_versions,
    move_aliases,
    version_of,
)
from trellis.vertex.stepwise import unfinished
from trellis.vertex.versions import parse_model

_UPDATED = ("labels", "version_description")


class ServiceVersionOperator(ModelVersionOperator):
    """Acts like ModelVersionOperator, or registers the model of a service as the next version of
    `model_id`: exactly one version per task.

    :param origin: {} to upload `model`; else {"service", "model"} (templated): automl and the name
        of the Model that its pipeline made, or bqml and PROJECT.DATASET.MODEL. Of `model`, the
        version then gets the labels and the version's description.
    :param bigquery_location: that of the BigQuery ML model. It is registered in that region; from
        US in us-central1, from EU in europe-west4.
    """

    doing = "register the model"
    template_fields: Sequence[str] = (*ModelVersionOperator.template_fields, "origin")

    def __init__(self, *, origin: Mapping[str, str], bigquery_location: str, **kwargs: Any):
        super().__init__(**kwargs)
        self.origin = origin
        self.bigquery_location = bigquery_location

    def _advance(self, context: Any, done: str | None) -> Any:
        if not self.origin:
            return super()._advance(context, done)
        name = f"{self._parent}/models/{self.model_id}"
        for operation in unfinished(self._client, name):
            return self._wait(context, operation, None)
        labels = job_labels(context["ti"], self.generation)
        version = self._listed(lambda: self._found(name, labels), done)
        if version is not None:
            return self._described(context, version, labels)
        experiment = parse_message(Model, self.model, "model").labels[EXPERIMENT_LABEL]
        there = self._is_there(name, experiment)
        if self.origin["service"] == AUTOML:
            return self._copy(context, name, there)
        self._register()
        version = self._listed(lambda: self._found(name, labels), self.doing)
        return self._described(context, version, labels)

    def _found(self, name: str, labels: Mapping[str, str]) -> Any | None:
        """The version that this task, perhaps an earlier attempt, has registered."""
        label = f"labels.{KEY_LABEL}={labels[KEY_LABEL]}"
        if marked := find_versions(self._client, name, label):
            return marked[0]
        if self.origin["service"] == AUTOML:
            source = parse_model(self.origin["model"]).id
            for version in find_versions(self._client, name):
                copied = version.original_model_info.model
                # One with the label of another task is that task's, as after another comparison.
                if copied and parse_model(copied).id == source and KEY_LABEL not in version.labels:
                    return version
            return None
        run = self._bigquery().get_model(self.origin["model"]).training_runs[-1]
        number = run.get("vertexAiModelVersion")
        if run.get("vertexAiModelId") != self.model_id or not number:
            return None
        return find_version(self._client, parse_model(name)._replace(version=str(number)))

    def _copy(self, context: Any, name: str, there: bool) -> Any:
        request: dict[str, Any] = {"parent": self._parent, "source_model": self.origin["model"]}
        request |= {"parent_model": name} if there else {"model_id": self.model_id}
        message = parse_message(Model, self.model, "model")
        if message.encryption_spec.kms_key_name:
            request["encryption_spec"] = message.encryption_spec
        operation = self._client.copy_model(request=request, timeout=CALL_TIMEOUT_SECONDS)
        self.log.info("Copying %s as a version of %s", self.origin["model"], name)
        return self._wait(context, operation.operation, "copy the model")

    def _register(self) -> None:
        model = self.origin["model"]
        statement = f"ALTER MODEL `{model}` SET OPTIONS (vertex_ai_model_id = '{self.model_id}')"
        self.log.info("In BigQuery: %s", statement)
        limit = QueryJobConfig(job_timeout_ms=self.wait and round(1000 * self.wait))
        self._bigquery().query(statement, limit).result()

    def _described(self, context: Any, version: Any, labels: Mapping[str, str]) -> Any:
        """Give the version the labels, the description and the aliases of one that is uploaded."""
        message = parse_message(Model, self.model, "model")
        if KEY_LABEL in version.labels:
            return self._result(context, version)
        move_aliases(self._client, version_of(version), list(self.aliases))
        changed = Model(
            name=version_of(version).name,
            labels={**message.labels, **labels},
            version_description=message.version_description,
        )
        # Last: a version with the task's label is complete.
        updated = self._client.update_model(
            request={"model": changed, "update_mask": {"paths": list(_UPDATED)}},
            timeout=CALL_TIMEOUT_SECONDS,
        )
        if KEY_LABEL not in updated.labels:
            raise JobFailed(f"{changed.name} did not get its labels: Airflow retries the task.")
        return self._result(context, updated)

    def _bigquery(self) -> Any:
        hook = BigQueryHook(
            gcp_conn_id=self.gcp_conn_id,
            impersonation_chain=self.impersonation_chain,
            use_legacy_sql=False,
            location=self.bigquery_location,
        )
        return hook.get_client(project_id=self.project_id, location=self.bigquery_location)

    def _reads(self) -> Iterable[str]:
        return (self.origin["model"],) if self.origin else super()._reads()

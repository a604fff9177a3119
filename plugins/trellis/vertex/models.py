"""The model registry from Airflow: versions, aliases, retention."""

import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from airflow.providers.google.cloud.hooks.vertex_ai.model_service import ModelServiceHook
from airflow.providers.google.cloud.operators.vertex_ai.model_service import (
    AddVersionAliasesOnModelOperator,
    DeleteModelVersionOperator,
    UploadModelOperator,
)
from google.api_core import exceptions
from google.cloud.aiplatform_v1.types import Model

from trellis.identity import EXPERIMENT_LABEL, KEY_LABEL, job_labels
from trellis.verdict import JobFailed, JobFailedForGood
from trellis.vertex.calls import CALL_TIMEOUT_SECONDS, REPEATABLE
from trellis.vertex.jobs import parse_message
from trellis.vertex.links import ConsoleLink
from trellis.vertex.registry import (
    DEFAULT_ALIAS,
    find_by_alias,
    find_version,
    find_versions,
    merge_aliases,
    move_aliases,
    own_aliases,
    version_of,
)
from trellis.vertex.stepwise import StepwiseOperator, ended, unfinished
from trellis.vertex.versions import VersionName, parse_version

# How long to wait for the removal of a version, which takes seconds.
REMOVAL_SECONDS = 60.0
REMOVAL_PAUSE_SECONDS = 0.5


class _RegistryOperator(StepwiseOperator):
    """Base of the operators on models."""

    @cached_property
    def _client(self) -> Any:
        return self._hook(ModelServiceHook).get_model_service_client(self.region)


class ModelVersionOperator(_RegistryOperator, UploadModelOperator):
    """Upload a model as the first or the next version of `model_id`: exactly one version per task.

    Returns {"model": "projects/.../models/ID", "version": "3", "name": "...@3"}.

    A later attempt finds the version by the task's label, and waits for an upload in progress. If
    two uploads ever succeeded, the version in use is kept and the other removed. Waits deferred.

    :param model_id: ID of the model: a letter, then up to 62 of a-z, 0-9, _ and -.
    :param model: the Model (templated), in protobuf's JSON form. It needs the label
        `trellis-experiment`: a model of this ID with another value of it, or without, is refused.
    :param aliases: aliases that move to the new version; an existing version is left unchanged.

    Raises JobFailed (retried) or JobFailedForGood (not).
    """

    doing = "upload the model"
    _written: tuple[str, ...] = ()

    def __init__(self, *, model_id: str, aliases: Sequence[str] = (), **kwargs: Any):
        super().__init__(**kwargs)
        self.model_id = model_id
        self.aliases = aliases

    def _advance(self, context: Any, done: str | None) -> Any:
        name = f"{self._parent}/models/{self.model_id}"
        labels = job_labels(context["ti"], self.generation)
        for operation in unfinished(self._client, name):
            return self._wait(context, operation, None)
        label = f"labels.{KEY_LABEL}={labels[KEY_LABEL]}"
        versions = self._listed(lambda: find_versions(self._client, name, label), done)
        if versions:
            kept = max(versions, key=_use)
            for other in versions:
                if other is not kept and not other.deployed_models:
                    return self._remove(context, other, kept)
            return self._result(context, kept)
        return self._upload(context, name, labels)

    def _upload(self, context: Any, name: str, labels: dict[str, str]) -> Any:
        message = parse_message(Model, self.model, "model")
        experiment = message.labels.get(EXPERIMENT_LABEL)
        if not experiment:
            raise ValueError(f"The model needs a label {EXPERIMENT_LABEL}.")
        message.labels.update(labels)
        message.version_aliases = list(self.aliases)
        request = {"parent": self._parent, "model": message}
        if self._is_there(name, experiment):
            request["parent_model"] = name
            # An alias of another version may be refused, see `move_aliases`.
            for alias in self.aliases:
                if holder := find_by_alias(self._client, name, alias):
                    merge_aliases(self._client, holder, [f"-{alias}"])
        else:
            request["model_id"] = self.model_id
        try:
            operation = self._client.upload_model(request=request, timeout=CALL_TIMEOUT_SECONDS)
        except exceptions.AlreadyExists as error:
            raise JobFailed(f"{name} was just created: Airflow retries the task.") from error
        self.log.info("Uploading %s as a version of %s", message.artifact_uri, name)
        return self._wait(context, operation.operation, "upload the model")

    def _is_there(self, name: str, experiment: str) -> bool:
        """Return whether the model exists; raises JobFailedForGood if it is someone
        else's.
        """
        try:
            model = self._client.get_model(name=name, **REPEATABLE)
        except exceptions.NotFound:
            return False
        found = model.labels.get(EXPERIMENT_LABEL)
        if found != experiment:
            raise JobFailedForGood(
                f"There is a model {name} ('{model.display_name}') that is not this experiment's: "
                f"its label {EXPERIMENT_LABEL} is {found or 'not set'}, not {experiment}. Give it "
                "that label if it is to get this version, or rename the experiment."
            )
        return True

    def _remove(self, context: Any, other: Any, kept: Any) -> Any:
        """Remove the version of an upload whose response was lost; `kept` gets its aliases."""
        name = version_of(other).name
        self.log.warning("This task uploaded %s too: removing it", name)
        move_aliases(self._client, version_of(kept), list(other.version_aliases))
        operation = self._client.delete_model_version(name=name, timeout=CALL_TIMEOUT_SECONDS)
        return self._wait(context, operation.operation, "remove a second version")

    def _reads(self) -> Iterable[str]:
        yield f"{parse_message(Model, self.model, 'model').artifact_uri.rstrip('/')}/"

    def _writes(self) -> Iterable[str]:
        return self._written

    def _result(self, context: Any, model: Any) -> dict[str, Any]:
        version = version_of(model)
        self._written = (version.name,)
        ConsoleLink.remember(context, version.name)
        self.log.info(
            "Registered: %s (aliases: %s)", version.name, ", ".join(own_aliases(model)) or "none"
        )
        return {"model": version.model, "version": version.version, "name": version.name}


def _use(version: Any) -> tuple[bool, bool, bool]:
    """Rank the use of a version: the version with the highest rank is kept."""
    aliases = version.version_aliases
    return bool(version.deployed_models), DEFAULT_ALIAS in aliases, bool(aliases)


class AliasOperator(_RegistryOperator, AddVersionAliasesOnModelOperator):
    """Move an alias to a version; the version that had it gets another alias. Returns
    {"version": "3", "previous": "2" or None}: previous is the version that has `previous` now.

    The version also becomes Vertex AI's default, used when a model is named without a version.
    If the version has the alias already, nothing changes, so attempts can be repeated.

    :param model_id: name of the version (templated): projects/.../models/ID@VERSION.
    :param alias: the alias that it gets: "champion".
    :param previous: alias for the version that had `alias` before; None: it gets none.
    :param drop: aliases that the version of `model_id` loses.
    """

    doing = "change the model's aliases"

    def __init__(
        self,
        *,
        alias: str,
        previous: str | None = None,
        drop: Sequence[str] = (),
        **kwargs: Any,
    ):
        super().__init__(version_aliases=[alias, DEFAULT_ALIAS], **kwargs)
        self.alias = alias
        self.previous = previous
        self.drop = drop

    def _advance(self, context: Any, done: str | None) -> dict[str, Any]:
        version = parse_version(self.model_id)
        ConsoleLink.remember(context, version.name)
        mine = find_version(self._client, version)
        if mine is None:
            raise JobFailedForGood(
                f"There is no {version.name}: it was deleted after this run registered it. "
                "Clear the task that registers it."
            )
        holder = find_by_alias(self._client, self.model_id, self.alias)
        previous = self.previous and find_by_alias(self._client, self.model_id, self.previous)
        if holder is None or holder.version != mine.version_id:
            before = f"version {holder.version}" if holder else "no version"
            self.log.info("%s: %s -> version %s", self.alias, before, version.version)
            # In this order: if killed in between, the next attempt still knows who had it.
            if holder is not None and self.previous:
                move_aliases(self._client, holder, [self.previous])
                previous = holder
            move_aliases(self._client, version, list(self.version_aliases))
        dropped = [f"-{alias}" for alias in self.drop if alias in mine.version_aliases]
        merge_aliases(self._client, version, dropped)
        return {"version": version.version, "previous": previous.version if previous else None}


class DeleteOldVersionsOperator(_RegistryOperator, DeleteModelVersionOperator):
    """Keep a model's newest versions and remove the others. Returns {"deleted": ["1", "2"]}: those
    that this attempt removed.

    A version that has an alias or is deployed is kept at any age. If Vertex AI refuses to remove a
    version, the next run's task tries again.

    :param model_id: name of the model, or of any version of it (templated).
    :param keep: how many of the newest versions to keep; None: all.
    """

    doing = "remove old versions"

    def __init__(self, *, keep: int | None, **kwargs: Any):
        super().__init__(**kwargs)
        self.keep = keep

    def _advance(self, context: Any, done: str | None) -> dict[str, Any]:
        ConsoleLink.remember(context, self.model_id)
        if self.keep is None:
            return {"deleted": []}
        removals = []
        versions = find_versions(self._client, self.model_id)
        for model in versions[: max(len(versions) - self.keep, 0)]:
            version = version_of(model)
            if model.version_aliases or model.deployed_models:
                continue
            try:
                removal = self._client.delete_model_version(
                    name=version.name, timeout=CALL_TIMEOUT_SECONDS
                )
            except (exceptions.FailedPrecondition, exceptions.NotFound) as error:
                self.log.warning("%s was not removed: %s", version.name, error.message)
                continue
            removals.append((version, removal.operation.name))
        deleted = [version.version for version, name in removals if self._removed(version, name)]
        return {"deleted": deleted}

    def _removed(self, version: VersionName, operation: str) -> bool:
        """Wait some seconds for the end of a version's removal; return whether it is removed."""
        deadline = time.monotonic() + REMOVAL_SECONDS
        while (event := ended(self._client, operation)) is None:
            if time.monotonic() >= deadline:
                self.log.warning("%s is still being removed (%s)", version.name, operation)
                return False
            time.sleep(REMOVAL_PAUSE_SECONDS)
        if event["code"]:
            self.log.warning("%s was not removed: %s", version.name, event["message"])
        else:
            self.log.info("Removed %s", version.name)
        return not event["code"]

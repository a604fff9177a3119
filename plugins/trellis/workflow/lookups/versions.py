"""The versions of an experiment's model in Vertex AI's registry. Called by tasks only."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow.providers.google.cloud.hooks.vertex_ai.model_service import ModelServiceHook

from trellis.identity import EXPERIMENT_LABEL as LABEL
from trellis.vertex.registry import find_version, find_versions, own_aliases, service_of
from trellis.vertex.versions import parse_version
from trellis.workflow.contracts.aliases import FIRST_LABEL
from trellis.workflow.lookups import documents
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.problems import did_you_mean
from trellis_contracts.baseline import Baseline
from trellis_contracts.layout import baseline_file

_SHOWN = 20


class VersionError(ValueError):
    """There is no such version of a model; the message lists those that exist."""


@dataclass(frozen=True)
class RegisteredVersion:
    """One version of a model.

    model: its name without the version. run: gs:// address of the run that made it, "" if its
    description does not say. first: the number that its training had first; another than its own
    if the DAG EXPERIMENT-reserve registered it once more. artifact: gs:// address of its files, ""
    if it has none. service: that trained and serves it, as in trellis_contracts.served; None: a
    training of the run. contender: folder of what it was in its run; None if its description does
    not say.
    """

    model: str
    number: str
    aliases: Sequence[str]
    created: datetime
    run: str
    first: str
    artifact: str = ""
    service: str | None = None
    contender: str | None = None

    @property
    def name(self) -> str:
        return f"{self.model}@{self.number}"

    def __str__(self) -> str:
        aliases = f" ({', '.join(self.aliases)})" if self.aliases else ""
        run = self.run.rstrip("/").rpartition("/")[2] or "an unknown run"
        return f"{self.number}{aliases}: {self.created:%Y-%m-%d %H:%M} UTC, by {run}"


def versions(experiment: Experiment, platform: Platform) -> list[RegisteredVersion]:
    """All versions of an experiment's model, newest first; none if it has no model.

    Ignores versions without the experiment's label, which people may have uploaded to the same
    model. Raises VersionError if the model exists but no version has the label.
    """
    client = _client(platform)
    name = f"projects/{platform.project}/locations/{platform.region}/models/{experiment.name}"
    found = find_versions(client, name)
    own = [model for model in found if model.labels.get(LABEL) == experiment.name]
    if found and not own:
        raise VersionError(
            f"The model {name} is not this experiment's: no version has the label "
            f"{LABEL}={experiment.name}. Rename the experiment, or delete that model."
        )
    return [_version(name, model) for model in reversed(own)]


def registered(platform: Platform, version: RegisteredVersion) -> Any:
    """The Model message of a version, with its files and container. Raises VersionError if someone
    has deleted it meanwhile.
    """
    model = find_version(_client(platform), parse_version(version.name))
    if model is None:
        raise VersionError(f"Version {version}, was deleted meanwhile.")
    return model


def find(known: Sequence[RegisteredVersion], wanted: str) -> RegisteredVersion | None:
    """The version of this number or alias, None if there is none."""
    return next((v for v in known if wanted == v.number or wanted in v.aliases), None)


def missing(known: Sequence[RegisteredVersion], wanted: str) -> str:
    """The message for a missing version: the most similar name, and all existing versions."""
    names = [word for version in known for word in (version.number, *version.aliases)]
    lines = [str(version) for version in known[:_SHOWN]]
    if len(known) > _SHOWN:
        lines.append(f"and {len(known) - _SHOWN} older ones")
    return "\n  ".join([f"There is no version '{wanted}'; {did_you_mean(wanted, names)}", *lines])


def _client(platform: Platform) -> Any:
    hook = ModelServiceHook(gcp_conn_id=platform.connection)
    return hook.get_model_service_client(platform.region)


def origin(model: Any) -> str | None:
    """Folder of the contender that a version was in its run; None if its description does not say.
    model: a Model message.
    """
    described = _described(model)
    run, contender = described.get("run"), described.get("contender")
    return f"{run.rstrip('/')}/{contender}/" if run and contender else None


def bigquery_model(platform: Platform, version: str, contender: str | None) -> str:
    """PROJECT.DATASET.MODEL of a version that BigQuery ML has trained. contender: its folder.

    Raises VersionError if nothing says which model that is.
    """
    address = baseline_file(contender) if contender else None
    baseline = documents.find_file(platform, Baseline, address) if address else None
    if baseline is None or baseline.model is None:
        raise VersionError(
            f"{address or 'No baseline.json'} does not say which model of BigQuery ML {version} is"
        )
    return baseline.model


def _described(model: Any) -> dict[str, str]:
    """The texts of a version's description, which `stages/deploy/messages.py` writes as JSON."""
    try:
        content = json.loads(model.version_description)
        return {name: value for name, value in content.items() if isinstance(value, str)}
    except (ValueError, AttributeError):
        return {}


def _version(name: str, model: Any) -> RegisteredVersion:
    run = _described(model).get("run", "")
    return RegisteredVersion(
        name,
        model.version_id,
        own_aliases(model),
        model.version_create_time,
        run,
        model.labels.get(FIRST_LABEL, model.version_id),
        model.artifact_uri,
        service_of(model),
        origin(model),
    )

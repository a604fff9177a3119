"""Flex templates: reads the container spec in Cloud Storage, and checks parameters by it.

`gcloud dataflow flex-template build` writes the spec: JSON with `image`, `sdkInfo` and `metadata`,
whose `parameters` list the optional and required parameters of a launch, with their patterns.
https://cloud.google.com/dataflow/docs/guides/templates/configuring-flex-templates
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from google.cloud import dataflow_v1beta3 as api
from google.protobuf import json_format

from local_gcp.wire import RpcError, invalid_argument, not_emulated

_RUNTIME = {
    *api.FlexTemplateRuntimeEnvironment.meta.fields,
    "max_num_workers",
    "worker_machine_type",
}
"""Options of every Beam pipeline on Dataflow, allowed even if a template does not list them."""
_NOT_EMULATED = (
    "image_repository_username_secret_id",
    "image_repository_password_secret_id",
    "image_repository_cert_path",
)
"""Fields of a template for a registry outside Google Cloud."""


def read_spec(launch: api.LaunchFlexTemplateParameter, buckets: Path) -> api.ContainerSpec:
    """The template of `launch`: inline, or at its gs:// path. `buckets`: the buckets' folder.

    Raises RpcError if it does not exist, cannot be read or cannot be run.
    """
    field = "launch_parameter.container_spec_gcs_path"
    if "container_spec" in launch:
        spec = launch.container_spec
    else:
        match = re.fullmatch(r"gs://([^/]+)/(.+)", launch.container_spec_gcs_path)
        if not match:
            raise invalid_argument(
                field, f"{launch.container_spec_gcs_path!r} is not gs://BUCKET/OBJECT."
            )
        spec = _parse(buckets.joinpath(*match.groups()), launch.container_spec_gcs_path)
    if not spec.image:
        raise invalid_argument(field, "The template names no image.")
    if spec.sdk_info.language != api.SDKInfo.Language.PYTHON:
        language = api.SDKInfo.Language(spec.sdk_info.language).name
        raise not_emulated(f"flex templates in {language}", "sdkInfo.language must be PYTHON.")
    for name in _NOT_EMULATED:
        if getattr(spec, name):
            raise not_emulated(f"the field {name} of a flex template")
    if spec.metadata.streaming:
        raise not_emulated("streaming templates", "metadata.streaming must be false.")
    return spec


def _parse(path: Path, uri: str) -> api.ContainerSpec:
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        message = f"Unable to open template file: {uri}. There is no such object."
        raise invalid_argument("launch_parameter.container_spec_gcs_path", message) from None
    try:
        content = json.loads(text)
        if not isinstance(content, dict):
            raise ValueError("expected a JSON object")
        spec = api.ContainerSpec()
        # Newer tools write fields that this client library does not have yet.
        json_format.ParseDict(content, api.ContainerSpec.pb(spec), ignore_unknown_fields=True)
    except (ValueError, json_format.ParseError) as error:
        message = f"Invalid template file {uri}: {error}"
        raise invalid_argument("launch_parameter.container_spec_gcs_path", message) from None
    return spec


def merged_environment(
    spec: api.ContainerSpec, launch: api.LaunchFlexTemplateParameter
) -> api.FlexTemplateRuntimeEnvironment:
    """The template's default environment, overridden by the launch's."""
    environment = api.FlexTemplateRuntimeEnvironment(spec.default_environment)
    type(environment).pb(environment).MergeFrom(type(environment).pb(launch.environment))
    return environment


def check_parameters(spec: api.ContainerSpec, parameters: Mapping[str, str]) -> None:
    """Refuse a launch if parameters violate the template's rules; the error names all of them.

    Required parameters must be set, and values must match every pattern in full. A parameter must
    be in the list or an option of every pipeline; without a list, all are allowed.
    """
    listed = {parameter.name: parameter for parameter in spec.metadata.parameters}
    if not listed:
        return
    violations = [
        (name, "Missing required parameter")
        for name, parameter in listed.items()
        if not parameter.is_optional and name not in parameters
    ]
    for name, value in parameters.items():
        if name in listed:
            violations += [(name, text) for text in _violations(listed[name], value)]
        elif _snake_case(name) not in _RUNTIME:
            violations.append((name, "Unrecognized parameter"))
    if violations:
        raise InvalidParametersError(violations)


class InvalidParametersError(RpcError):
    """Dataflow's error for parameters that violate the template's rules."""

    def __init__(self, violations: list[tuple[str, str]]):
        lines = "".join(f"\n{name}: {text}" for name, text in violations)
        error = invalid_argument("", f"The template parameters are invalid. Details: {lines}")
        super().__init__(error.code, error.message.removeprefix(": "))


def _violations(parameter: api.ParameterMetadata, value: str) -> list[str]:
    found = []
    for regex in parameter.regexes:
        try:
            if not re.fullmatch(regex, value):
                found.append(f"Value {value!r} does not match regex {regex!r}")
        except re.error as error:
            found.append(f"The template's regex {regex!r} is not valid: {error}")
    options = [option.value for option in parameter.enum_options]
    if options and value not in options:
        found.append(f"Value {value!r} is not one of {', '.join(options)}")
    return found


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()

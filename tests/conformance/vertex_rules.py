"""Rules for the fields of Vertex AI's requests, as Google publishes them, with good and bad values.

A rule's source is the documentation of a message in Google's client (`says`, in `source`), which is
generated from the API's definition. Of labels it says "no longer than 64 characters", but the
service's own error, which users have quoted, says "less than 64", and so does Google's page of
requirements for labels ("a maximum length of 63",
https://cloud.google.com/resource-manager/docs/creating-managing-labels): 64 is a bad value here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KEY = "projects/p/locations/{}/keyRings/r/cryptoKeys/k"


@dataclass(frozen=True)
class Rule:
    """A rule of one field.

    request: of `programs/vertex_rules.py`. field: its path, as the error must name it. source,
    says: the message in whose documentation this text is. good, bad: values of the field.
    """

    request: str
    field: str
    source: str
    says: str
    good: tuple[Any, ...]
    bad: tuple[Any, ...]


def _resource(request: str, message: str) -> list[Rule]:
    """Rules of all resources, on one of them."""
    name = f"{request}.display_name"
    return [
        Rule(
            request,
            name,
            message,
            "The name can be up to 128 characters long and can consist of any UTF-8 characters.",
            ("x" * 128, "größer / 名"),
            ("", "x" * 129),
        ),
        Rule(
            request,
            f"{request}.labels",
            message,
            "can only contain lowercase letters, numeric characters, underscores and dashes. "
            "International characters are allowed.",
            ({"a_b-1": "0-x_"}, {"straße": "größe"}, {"x" * 63: ""}, {"a": "x" * 63}),
            ({"A": ""}, {"a": "X"}, {"a.b": ""}, {"a": "b c"}, {"x" * 64: ""}, {"a": "x" * 64}),
        ),
        Rule(
            request,
            f"{request}.labels",
            "Dataset",
            "No more than 64 user labels can be associated with one Dataset",
            ({f"a{n}": "" for n in range(64)},),
            ({f"a{n}": "" for n in range(65)},),
        ),
        Rule(
            request,
            f"{request}.encryption_spec.kms_key_name",
            "EncryptionSpec",
            "Has the form: ``projects/my-project/locations/my-region/keyRings/my-kr/cryptoKeys/"
            "my-key``. The key needs to be in the same region as where the compute resource is "
            "created.",
            (KEY.format("us-central1"),),
            ("k", KEY.format("us-central1") + "/cryptoKeyVersions/1", KEY.format("europe-west4")),
        ),
    ]


def _variables(request: str, field: str) -> list[Rule]:
    name = "Name of the environment variable. Must be a valid C identifier."
    good, bad = ("A", "_a1"), ("", "A-B", "1A", "A.B", "A B")
    at = f"{field}[0]"
    return [
        Rule(request, f"{at}.name", "EnvVar", f"Required. {name}", good, bad),
        Rule(
            request,
            f"{at}.value",
            "EnvVar",
            "value (str): Required. Variables that reference a $(VAR_NAME) are expanded",
            ("x", "$(A)"),
            ("",),
        ),
    ]


POOL = "custom_job.job_spec.worker_pool_specs[0]"
STUDY = "hyperparameter_tuning_job.study_spec"
RULES = [
    *_resource("custom_job", "CustomJob"),
    *_resource("hyperparameter_tuning_job", "HyperparameterTuningJob"),
    *_resource("model", "Model"),
    *_resource("endpoint", "Endpoint"),
    *_resource("dataset", "Dataset"),
    *_variables("custom_job", f"{POOL}.container_spec.env"),
    *_variables("model", "model.container_spec.env"),
    Rule(
        "model",
        "model_id",
        "UploadModelRequest",
        "This value may be up to 63 characters, and valid characters are ``[a-z0-9_-]``. The first "
        "character cannot be a number or hyphen.",
        ("a", "_a", "a-b_1", "x" * 63),
        ("1a", "-a", "A", "a.b", "x" * 64),
    ),
    Rule(
        "model",
        "model.version_aliases[0]",
        "Model",
        "The format is [a-z][a-zA-Z0-9-]{0,126}[a-z0-9] to distinguish from version_id.",
        # Aliases of real models have underscores, in spite of the sentence.
        ("ab", "best-1", "aBc9", "a_b", "x" * 128),
        ("", "a", "1a", "Best", "a-", "a_", "aB", "_ab", "x" * 129),
    ),
    Rule(
        "endpoint",
        "endpoint_id",
        "CreateEndpointRequest",
        "If the first character is a letter, this value may be up to 63 characters, and valid "
        "characters are ``[a-z0-9-]``. The last character must be a letter or number.",
        ("a", "a-1", "x" * 63),
        ("A", "a-", "-a", "a_b", "x" * 64),
    ),
    Rule(
        "endpoint",
        "endpoint_id",
        "CreateEndpointRequest",
        "If the first character is a number, this value may be up to 9 characters, and valid "
        "characters are ``[0-9]`` with no leading zeros.",
        ("1", "123456789"),
        ("01", "1a", "1234567890"),
    ),
    Rule(
        "deployed_model",
        "deployed_model.id",
        "DeployedModel",
        "This value should be 1-10 characters, and valid characters are ``/[0-9]/``.",
        ("1", "0123456789"),
        ("a", "12345678901"),
    ),
    Rule(
        "deployed_model",
        "deployed_model.dedicated_resources.min_replica_count",
        "DedicatedResources",
        "This value must be greater than or equal to 1.",
        (1,),
        (0, -1),
    ),
    Rule(
        "custom_job",
        "custom_job.job_spec.network",
        "CustomJobSpec",
        "is of the form ``projects/{project}/global/networks/{network}``. Where {project} is a "
        "project number, as in ``12345``, and {network} is a network name.",
        ("projects/12345/global/networks/myVPC",),
        ("myVPC", "projects/my-project/global/networks/myVPC"),
    ),
    Rule(
        "custom_job",
        f"{POOL}.container_spec.env",
        "ContainerSpec",
        "Environment variables to be passed to the container. Maximum limit is 100.",
        ([{"name": f"A{n}", "value": "x"} for n in range(100)],),
        ([{"name": f"A{n}", "value": "x"} for n in range(101)],),
    ),
    Rule(
        "package",
        f"{POOL}.python_package_spec.package_uris",
        "PythonPackageSpec",
        "The maximum number of package URIs is 100.",
        (["gs://b/x"] * 100,),
        (["gs://b/x"] * 101, []),
    ),
    Rule(
        "hyperparameter_tuning_job",
        f"{STUDY}.parameters[0].parameter_id",
        "StudySpec.ParameterSpec",
        "Required. The ID of the parameter. Must not contain whitespaces",
        ("learning_rate",),
        ("", "learning rate"),
    ),
    Rule(
        "hyperparameter_tuning_job",
        f"{STUDY}.metrics[0].metric_id",
        "StudySpec.MetricSpec",
        "Required. The ID of the metric. Must not contain whitespaces",
        ("accuracy",),
        ("", "the accuracy"),
    ),
    Rule(
        "hyperparameter_tuning_job",
        f"{STUDY}.parameters[0].discrete_value_spec.values",
        "StudySpec.ParameterSpec.DiscreteValueSpec",
        "The list should be in increasing order and at least 1e-10 apart.",
        ([1.5, 2.5, 4.0],),
        ([2.5, 1.5], [1.0, 1.0]),
    ),
    Rule(
        "hyperparameter_tuning_job",
        f"{STUDY}.parameters[0].discrete_value_spec.values",
        "StudySpec.ParameterSpec.DiscreteValueSpec",
        "This list should not contain more than 1,000 values.",
        (list(range(1000)),),
        (list(range(1001)), []),
    ),
]

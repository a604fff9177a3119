"""Refusals of a new job: field by field."""

import grpc
import pytest
from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format

from local_gcp.field_errors import REQUIRED
from local_gcp.vertex.validation import (
    LABEL_RULES,
    check_display_name,
    check_job_spec,
    check_labels,
    check_resource,
)
from local_gcp.wire import RpcError

MACHINE = {"machineType": "n1-standard-4"}
POOL = {
    "machineSpec": MACHINE,
    "replicaCount": 1,
    "containerSpec": {"imageUri": "gcr.io/p/app/job:1"},
}
A = {"name": "A", "value": "x"}
PACKAGE = {
    "executorImageUri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
    "packageUris": ["gs://b/trainer-0.1.tar.gz"],
    "pythonModule": "trainer.task",
}


def without(key, value=POOL):
    return {k: v for k, v in value.items() if k != key}


def spec(*pools, **fields):
    message = {"workerPoolSpecs": list(pools), **fields}
    return api.CustomJobSpec.wrap(json_format.ParseDict(message, api.CustomJobSpec.pb()()))


def refusal(job_spec):
    with pytest.raises(RpcError) as error:
        check_job_spec(job_spec, "job_spec")
    return error.value


@pytest.mark.parametrize(
    "job_spec",
    [
        spec(POOL),
        spec(POOL, {**POOL, "replicaCount": 3}),
        spec(POOL, {}, POOL, POOL),
        spec({**without("containerSpec"), "pythonPackageSpec": PACKAGE}),
        spec(
            POOL,
            serviceAccount="a@b.iam.gserviceaccount.com",
            network="projects/1/global/networks/n",
            reservedIpRanges=["r"],
            enableWebAccess=True,
            enableDashboardAccess=True,
            tensorboard="projects/1/locations/us-central1/tensorboards/1",
            baseOutputDirectory={"outputUriPrefix": "gs://b/out"},
            scheduling={"timeout": "3600s", "strategy": "SPOT", "restartJobOnWorkerRestart": True},
        ),
        spec({**POOL, "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}}),
        spec(
            {
                **POOL,
                "machineSpec": {
                    "machineType": "n1-standard-4",
                    "acceleratorType": "NVIDIA_TESLA_T4",
                    "acceleratorCount": 1,
                },
            }
        ),
    ],
)
def test_usual_jobs_are_accepted(job_spec):
    check_job_spec(job_spec, "job_spec")


@pytest.mark.parametrize(
    ("job_spec", "field", "rule"),
    [
        (spec(), "worker_pool_specs", "The first worker pool is required"),
        (spec({}, POOL), "worker_pool_specs", "The first worker pool is required"),
        (spec(*[POOL] * 5), "worker_pool_specs", "It has 5 pools; at most 4"),
        (
            spec({**POOL, "replicaCount": 2}),
            "worker_pool_specs[0].replica_count",
            "2 is not 1: the first worker pool, the primary, has exactly 1 replica",
        ),
        (spec(POOL, without("replicaCount")), "worker_pool_specs[1].replica_count", "at least 1"),
        (
            spec(without("machineSpec")),
            "worker_pool_specs[0].machine_spec.machine_type",
            REQUIRED,
        ),
        (
            spec(without("containerSpec")),
            "worker_pool_specs[0]",
            "container_spec or python_package",
        ),
        (
            spec({**POOL, "containerSpec": {"args": ["x"]}}),
            "worker_pool_specs[0].container_spec.image_uri",
            REQUIRED,
        ),
        (
            spec({**POOL, "containerSpec": {"imageUri": "i", "env": [{"name": "A B"}]}}),
            "worker_pool_specs[0].container_spec.env[0].name",
            "'A B'",
        ),
        (
            spec({**POOL, "containerSpec": {"imageUri": "i", "env": [{"name": "A"}]}}),
            "worker_pool_specs[0].container_spec.env[0].value",
            REQUIRED,
        ),
        (
            spec({**POOL, "containerSpec": {"imageUri": "i", "env": [A] * 2}}),
            "worker_pool_specs[0].container_spec.env",
            "EnvVar names must be unique.",
        ),
        (
            spec({**POOL, "containerSpec": {"imageUri": "i", "env": [A] * 101}}),
            "worker_pool_specs[0].container_spec.env",
            "At most 100",
        ),
        *[
            (
                spec({**without("containerSpec"), "pythonPackageSpec": without(key, PACKAGE)}),
                f"worker_pool_specs[0].python_package_spec.{field}",
                REQUIRED,
            )
            for key, field in [
                ("executorImageUri", "executor_image_uri"),
                ("packageUris", "package_uris"),
                ("pythonModule", "python_module"),
            ]
        ],
        (
            spec({**POOL, "machineSpec": {"machineType": "n1-standard-4", "acceleratorCount": 1}}),
            "worker_pool_specs[0].machine_spec.accelerator_type",
            "Both `accelerator_type` and `accelerator_count` should be specified or none.",
        ),
        *[
            (
                spec(
                    {
                        **POOL,
                        "machineSpec": {
                            "machineType": machine,
                            "acceleratorType": gpu,
                            "acceleratorCount": count,
                        },
                    }
                ),
                f"worker_pool_specs[0].machine_spec.{field}",
                rule,
            )
            for machine, gpu, count, field, rule in [
                ("foo-bar-9", None, None, "machine_type", '"foo-bar-9" is not supported'),
                ("c3-standard-4", None, None, "machine_type", "is not supported"),
                ("n1-standard-4", "NVIDIA_TESLA_V100", 3, "accelerator_count", "1, 2, 4, 8."),
                ("n1-highmem-2", "NVIDIA_TESLA_T4", 16, "accelerator_count", "1, 2, 4."),
                ("n1-standard-32", "NVIDIA_TESLA_T4", 1, "accelerator_count", "supported: 2, 4."),
                (
                    "e2-standard-4",
                    "NVIDIA_TESLA_T4",
                    1,
                    "accelerator_type",
                    'Accelerator "NVIDIA_TESLA_T4" is not supported for machine type "e2-standard',
                ),
                ("n1-standard-4", "NVIDIA_TESLA_K80", 1, "accelerator_type", "is not supported"),
                ("g2-standard-24", "NVIDIA_L4", 1, "accelerator_count", "supported: 2."),
            ]
        ],
        (
            spec(POOL, baseOutputDirectory={"outputUriPrefix": "/gcs/b/out"}),
            "base_output_directory.output_uri_prefix",
            "'/gcs/b/out' is not gs://BUCKET/...",
        ),
        (spec(POOL, scheduling={"timeout": "-1s"}), "scheduling.timeout", "negative"),
        (spec(POOL, network="default"), "network", "'default' is not projects/PROJECT_NUMBER/"),
    ],
)
def test_what_vertex_refuses_is_refused_with_field_and_rule(job_spec, field, rule):
    error = refusal(job_spec)
    assert error.code is grpc.StatusCode.INVALID_ARGUMENT
    ((named, message),) = error.violations
    assert named == f"job_spec.{field}"
    assert rule in message


@pytest.mark.parametrize(
    ("job_spec", "name"),
    [
        (spec(POOL, persistentResourceId="r"), "job_spec.persistent_resource_id"),
        (spec(POOL, models=["m"]), "job_spec.models"),
        (
            spec({**POOL, "nfsMounts": [{"server": "s", "path": "p", "mountPoint": "m"}]}),
            "job_spec.worker_pool_specs[0].nfs_mounts",
        ),
        (spec({**POOL, "machineSpec": {"machineType": "ct5lp-hightpu-4t"}}), "ct5lp-hightpu-4t"),
        (
            spec(
                {
                    **POOL,
                    "machineSpec": {
                        "machineType": "n1-standard-4",
                        "reservationAffinity": {"reservationAffinityType": "ANY_RESERVATION"},
                    },
                }
            ),
            "job_spec.worker_pool_specs[0].machine_spec.reservation_affinity",
        ),
        *[
            (
                spec(POOL, {}, {**POOL, "containerSpec": {"imageUri": image}}),
                "Reduction Server (job_spec.worker_pool_specs[2].container_spec.image_uri)",
            )
            for image in [
                "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest",
                "asia-docker.pkg.dev/vertex-ai-restricted/training/reductionserver@sha256:0a",
            ]
        ],
    ],
)
def test_what_would_change_the_outcome_here_is_refused_by_name(job_spec, name):
    error = refusal(job_spec)
    assert error.code is grpc.StatusCode.UNIMPLEMENTED
    assert name in error.message


@pytest.mark.filterwarnings("ignore:Unrecognized")
@pytest.mark.parametrize(
    ("numbers", "field"),
    [
        ({"scheduling": {"strategy": 99}}, "scheduling.strategy"),
        (
            {"workerPoolSpecs": [{**POOL, "machineSpec": {**MACHINE, "acceleratorType": 999}}]},
            "worker_pool_specs[0].machine_spec.accelerator_type",
        ),
    ],
)
def test_numbers_that_an_enum_does_not_have(numbers, field):
    error = refusal(spec(POOL, **numbers))
    assert [named for named, _ in error.violations] == [f"job_spec.{field}"]


@pytest.mark.parametrize("name", ["x", "x" * 128, "ünïcode / with spaces"])
def test_display_names(name):
    check_display_name(name, "display_name")


@pytest.mark.parametrize("name", ["", "x" * 129])
def test_bad_display_names(name):
    with pytest.raises(RpcError, match="display_name"):
        check_display_name(name, "display_name")


@pytest.mark.parametrize(
    "labels",
    [{}, {"a": ""}, {"a_b-1": "0-x_"}, {"straße": "größe"}, {"1a": ""}, {"x" * 63: "y" * 63}],
)
def test_labels(labels):
    check_labels(labels, "labels")


@pytest.mark.parametrize(
    ("labels", "rule"),
    [
        ({"A": "x"}, "the key 'A' does not start with a lowercase letter or number"),
        ({"_a": "x"}, "the key '_a' does not start with a lowercase letter or number"),
        ({"": "x"}, "the key '' does not start with a lowercase letter or number"),
        ({"a.b": "x"}, "the key, 'a.b', has other characters"),
        ({"a": "X"}, "the value of 'a', 'X', has other characters"),
        ({"a": "x" * 64}, "the value of 'a', 'xx"),
        ({"x" * 64: ""}, "the key, 'xx"),
        ({"a": "名" * 43}, "the value of 'a', '名"),
        ({f"a{n}": "" for n in range(65)}, "there are 65"),
    ],
)
def test_bad_labels(labels, rule):
    with pytest.raises(RpcError, match="labels") as error:
        check_labels(labels, "labels")
    assert f"{LABEL_RULES} (local_gcp: {rule}" in error.value.message


KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"


def test_a_key_in_the_region():
    job = api.CustomJob(display_name="n", encryption_spec={"kms_key_name": KEY})
    check_resource(job, "custom_job", "us-central1")
    with pytest.raises(RpcError, match="The key is in us-central1, the resource in europe-west4"):
        check_resource(job, "custom_job", "europe-west4")


@pytest.mark.parametrize("key", ["", "k", f"{KEY}/cryptoKeyVersions/1"])
def test_bad_keys(key):
    job = api.CustomJob(display_name="n", encryption_spec={"kms_key_name": key})
    with pytest.raises(RpcError, match=r"custom_job\.encryption_spec\.kms_key_name"):
        check_resource(job, "custom_job", "us-central1")

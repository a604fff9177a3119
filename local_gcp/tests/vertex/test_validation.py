"""What is refused when a job is created: field by field."""

import grpc
import pytest
from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format

from local_gcp.vertex.validation import check_display_name, check_job_spec, check_labels
from local_gcp.wire import RpcError

POOL = {
    "machineSpec": {"machineType": "n1-standard-4"},
    "replicaCount": 1,
    "containerSpec": {"imageUri": "gcr.io/p/app/job:1"},
}
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
        (spec(), "worker_pool_specs", "the first worker pool is required"),
        (spec({}, POOL), "worker_pool_specs", "the first worker pool is required"),
        (spec(*[POOL] * 5), "worker_pool_specs", "at most 4"),
        (
            spec({**POOL, "replicaCount": 2}),
            "worker_pool_specs[0].replica_count",
            "is 2, but the first worker pool, the primary, has exactly 1 replica",
        ),
        (spec(POOL, without("replicaCount")), "worker_pool_specs[1].replica_count", "at least 1"),
        (
            spec(without("machineSpec")),
            "worker_pool_specs[0].machine_spec.machine_type",
            "required",
        ),
        (
            spec(without("containerSpec")),
            "worker_pool_specs[0]",
            "container_spec or python_package",
        ),
        (
            spec({**POOL, "containerSpec": {"args": ["x"]}}),
            "worker_pool_specs[0].container_spec.image_uri",
            "is required",
        ),
        (
            spec({**POOL, "containerSpec": {"imageUri": "i", "env": [{"name": "A B"}]}}),
            "worker_pool_specs[0].container_spec.env[0].name",
            "'A B'",
        ),
        (
            spec({**POOL, "containerSpec": {"imageUri": "i", "env": [{"name": "A"}] * 101}}),
            "worker_pool_specs[0].container_spec.env",
            "at most 100",
        ),
        *[
            (
                spec({**without("containerSpec"), "pythonPackageSpec": without(key, PACKAGE)}),
                f"worker_pool_specs[0].python_package_spec.{field}",
                "is required",
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
    ],
)
def test_what_vertex_refuses_is_refused_with_field_and_rule(job_spec, field, rule):
    error = refusal(job_spec)
    assert error.code is grpc.StatusCode.INVALID_ARGUMENT
    assert error.field == f"job_spec.{field}"
    assert rule in error.message


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
    ],
)
def test_what_would_change_the_outcome_here_is_refused_by_name(job_spec, name):
    error = refusal(job_spec)
    assert error.code is grpc.StatusCode.UNIMPLEMENTED
    assert name in error.message


@pytest.mark.parametrize("name", ["x", "x" * 128, "ünïcode / with spaces"])
def test_display_names(name):
    check_display_name(name, "display_name")


@pytest.mark.parametrize("name", ["", "x" * 129])
def test_bad_display_names(name):
    with pytest.raises(RpcError, match="display_name"):
        check_display_name(name, "display_name")


@pytest.mark.parametrize(
    "labels", [{}, {"a": ""}, {"a_b-1": "0-x_"}, {"straße": "größe"}, {"x" * 63: "y" * 63}]
)
def test_labels(labels):
    check_labels(labels, "labels")


@pytest.mark.parametrize(
    ("labels", "rule"),
    [
        ({"A": "x"}, "must begin with a lowercase letter"),
        ({"1a": "x"}, "must begin with a lowercase letter"),
        ({"": "x"}, "must begin with a lowercase letter"),
        ({"a.b": "x"}, "'a.b', may have lowercase letters, digits, _ and - only"),
        ({"a": "X"}, "value of 'a', 'X', may have lowercase"),
        ({"a": "x" * 64}, "is longer than 63"),
        ({"x" * 64: ""}, "is longer than 63"),
        ({f"a{n}": "" for n in range(65)}, "at most 64"),
    ],
)
def test_bad_labels(labels, rule):
    with pytest.raises(RpcError, match="labels") as error:
        check_labels(labels, "labels")
    assert rule in error.value.message

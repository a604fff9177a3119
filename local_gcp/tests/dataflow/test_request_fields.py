"""Every field of Dataflow's requests is sent once: it is refused by name, or has the effect that
another test shows.
"""

import grpc
import pytest
from google.cloud import dataflow_v1beta3 as api

from local_gcp.dataflow.jobs import Jobs
from local_gcp.project import DEFAULT_PROJECT as PROJECT
from local_gcp.wire import RpcError, method_table, refuse_unread, snake_case
from tests.proto_fields import taken

PACKAGE = "google.cloud.dataflow_v1beta3.services"
SERVICES = ("flex_templates_service", "jobs_v1_beta3", "messages_v1_beta3", "metrics_v1_beta3")
WHERE = {"project_id", "location"}
VALID = {"project_id": PROJECT, "location": "us-central1"}
ENVIRONMENT = {
    *("additional_pipeline_options", "additional_user_labels", "staging_location"),
    "temp_location",
    # They choose machines, which are this one here; the job's log names them: test_jobs.py.
    *("additional_experiments", "autoscaling_algorithm", "disk_size_gb", "flexrs_goal"),
    *("ip_configuration", "kms_key_name", "launcher_machine_type", "machine_type", "max_workers"),
    *("network", "num_workers", "service_account_email", "subnetwork", "worker_region"),
    *("worker_zone", "zone"),
}
METADATA = {
    # Rules of parameters: test_template.py. What the values here break is named in an error.
    "parameters.is_optional",
    # What the console shows.
    *("name", "description"),
    *(
        f"parameters.{name}"
        for name in (
            *("label", "help_text", "param_type", "custom_metadata", "group_name", "parent_name"),
            *("parent_trigger_values", "default_value", "hidden_ui"),
        )
    ),
    # Of streaming templates, which are refused.
    *("supports_at_least_once", "supports_exactly_once", "default_streaming_mode"),
}
TAKEN = {
    "LaunchFlexTemplateRequest": {
        *(WHERE | {"validate_only", "launch_parameter.job_name"}),
        *(f"launch_parameter.environment.{name}" for name in ENVIRONMENT),
        *(f"launch_parameter.container_spec.default_environment.{name}" for name in ENVIRONMENT),
        *(f"launch_parameter.container_spec.metadata.{name}" for name in METADATA),
        "launch_parameter.container_spec.sdk_info.version",  # the image has its Beam
    },
    "GetJobRequest": {*WHERE, "view"},
    "ListJobsRequest": {*WHERE, "filter", "name", "page_size"},
    "ListJobMessagesRequest": {
        *WHERE | {"end_time", "minimum_importance", "page_size", "start_time"}
    },
    # The job's own names in its body are those of the address.
    "UpdateJobRequest": {
        *(WHERE | {"job.requested_state"}),
        *(f"job.{name}" for name in ("id", "location", "name", "project_id")),
    },
}
"""Fields with an effect: test_jobs.py, test_rest.py and test_template.py."""


@pytest.fixture
def requests(house):
    """One that is accepted, of each class."""
    house.write_template()
    launch = {"job_name": "a", "parameters": {"source": "gs://a/b"}}
    first = {**launch, "container_spec_gcs_path": house.template}
    job = house.jobs.launch_flex_template(
        api.LaunchFlexTemplateRequest(launch_parameter=first, **VALID)
    ).job
    house.wait(job.id)
    source = {"name": "source", "label": "Source", "help_text": "Manifest", "is_optional": True}
    spec = {
        "image": "example.com/test/export:1",
        "sdk_info": {"language": "PYTHON"},
        "metadata": {"parameters": [source]},
    }
    made = {"job_id": job.id, **VALID}
    stop = {"requested_state": "JOB_STATE_CANCELLED"}
    return [
        api.LaunchFlexTemplateRequest(
            launch_parameter={**launch, "container_spec": spec}, validate_only=True, **VALID
        ),
        api.GetJobRequest(made),
        api.ListJobsRequest(VALID),
        api.ListJobMessagesRequest(made),
        api.UpdateJobRequest(job=stop, **made),
    ]


def methods():
    """By the request's class: the name of the method of `Jobs` that takes it."""
    return {
        request.__name__: name
        for service in SERVICES
        for path, (request, _) in method_table(f"{PACKAGE}.{service}").items()
        if hasattr(Jobs, name := snake_case(path.rpartition("/")[2]))
    }


def test_no_field_is_taken_and_ignored(house, requests):
    found = {}
    for request in requests:
        name = type(request).__name__
        method = getattr(house.jobs, methods()[name])

        def send(request, method=method):
            refuse_unread(request)
            try:
                method(request)
            except RpcError as error:
                # A change that is taken comes too late: the job has ended.
                if error.code is not grpc.StatusCode.FAILED_PRECONDITION:
                    raise

        found[name] = taken(api, request, send, VALID)
    assert found == TAKEN
    assert found.keys() == methods().keys()

"""Dataflow jobs that really run: launched from a template, listed, cancelled, explained."""

import os
import signal

import grpc
import pytest
from google.cloud import dataflow_v1beta3 as api

from local_gcp.project import DEFAULT_PROJECT as PROJECT
from local_gcp.wire import RpcError

WHERE = {"project_id": PROJECT, "location": "us-central1"}


def launch(house, name="export", validate_only=False, environment=None, **parameters):
    parameters = {"source": "gs://data/manifest.csv"} | parameters
    return house.jobs.launch_flex_template(
        api.LaunchFlexTemplateRequest(
            launch_parameter={
                "job_name": name,
                "container_spec_gcs_path": house.template,
                "parameters": parameters,
                "environment": environment or {},
            },
            validate_only=validate_only,
            **WHERE,
        )
    ).job


def get(house, job):
    return house.jobs.get_job(api.GetJobRequest(job_id=job.id, **WHERE))


def cancel(house, job, state="JOB_STATE_CANCELLED"):
    return house.jobs.update_job(
        api.UpdateJobRequest(job_id=job.id, job={"requested_state": state}, **WHERE)
    )


def messages(house, job, least="JOB_MESSAGE_IMPORTANCE_UNKNOWN"):
    request = api.ListJobMessagesRequest(job_id=job.id, minimum_importance=least, **WHERE)
    return [message.message_text for message in house.jobs.list_job_messages(request).job_messages]


def listed(house, **request):
    answer = house.jobs.list_jobs(api.ListJobsRequest(**WHERE, **request))
    return [job.name for job in answer.jobs], answer.next_page_token


def refusal(call, *arguments, **keywords):
    with pytest.raises(RpcError) as info:
        call(*arguments, **keywords)
    return info.value


def test_a_job_runs_the_templates_program_with_its_parameters(house):
    house.program("print(*sys.argv[1:], sep='\\n')")
    environment = {
        "temp_location": "gs://data/tmp",
        "num_workers": 3,
        "additional_user_labels": {"team": "vision"},
    }
    job = launch(house, environment=environment, size="8")
    assert job.type_ == api.JobType.JOB_TYPE_BATCH

    house.wait(job.id)
    job = get(house, job)

    assert job.current_state == api.JobState.JOB_STATE_DONE
    assert job.create_time <= job.start_time <= job.current_state_time
    assert (job.project_id, job.location, dict(job.labels)) == (
        PROJECT,
        "us-central1",
        {"team": "vision"},
    )
    log = house.log(job.id)
    for flag in (
        "--source=gs://data/manifest.csv",
        "--size=8",
        "--runner=DirectRunner",
        "--direct_running_mode=in_memory",
        "--job_name=export",
        "--temp_location=gs://data/tmp",
    ):
        assert f"\n{flag}\n" in log
    assert "ignored by local_gcp: num_workers" in log


def test_the_templates_own_environment_counts_where_the_launch_is_silent(house):
    house.program("print(*sys.argv[1:], sep='\\n')")
    house.write_template(
        defaultEnvironment={
            "tempLocation": "gs://default/tmp",
            "stagingLocation": "gs://default/staging",
            "additionalUserLabels": {"team": "vision"},
        }
    )
    environment = {"temp_location": "gs://own/tmp", "additional_user_labels": {"run": "1"}}
    job = launch(house, environment=environment)
    house.wait(job.id)
    assert dict(job.labels) == {"team": "vision", "run": "1"}
    log = house.log(job.id)
    assert "--temp_location=gs://own/tmp\n" in log
    assert "--staging_location=gs://default/staging\n" in log


def test_a_failed_job_tells_its_last_lines_and_is_not_tried_again(house):
    house.program("print('row 7: no such image'); sys.exit(4)")
    job = launch(house)
    house.wait(job.id)
    assert get(house, job).current_state == api.JobState.JOB_STATE_FAILED
    (error,) = messages(house, job, "JOB_MESSAGE_ERROR")
    assert error.startswith("Workflow failed. Causes: ")
    assert "status of 4" in error
    assert "row 7: no such image" in error
    assert len(messages(house, job)) == 3
    page = api.ListJobMessagesRequest(job_id=job.id, page_size=2, **WHERE)
    first = house.jobs.list_job_messages(page)
    page.page_token = first.next_page_token
    rest = house.jobs.list_job_messages(page)
    both = [*first.job_messages, *rest.job_messages]
    assert [len(first.job_messages), rest.next_page_token] == [2, ""]
    assert [message.message_text for message in both] == messages(house, job)
    assert house.log(job.id).count("row 7") == 1


def test_a_killed_process_is_started_again(house):
    house.program(
        """
        if os.path.exists("been_here"):
            print("second time")
        else:
            open("been_here", "w").close()
            time.sleep(60)
        """
    )
    job = launch(house)
    house.wait(job.id, "running")
    while not (house.root / "been_here").exists():
        pass
    (replica,) = house.jobs.describe()[0]["replicas"]
    os.kill(replica["pid"], signal.SIGKILL)
    house.wait(job.id)
    assert get(house, job).current_state == api.JobState.JOB_STATE_DONE
    assert "second time" in house.log(job.id)


def test_a_cancelled_job_ends(house):
    house.program("time.sleep(60)")
    job = launch(house)
    house.wait(job.id, "running")
    assert cancel(house, job).requested_state == api.JobState.JOB_STATE_CANCELLED
    house.wait(job.id)
    assert get(house, job).current_state == api.JobState.JOB_STATE_CANCELLED

    error = refusal(cancel, house, job)
    assert error.code == grpc.StatusCode.FAILED_PRECONDITION
    assert "has ended (JOB_STATE_CANCELLED)" in error.message


def test_only_streaming_jobs_can_be_drained(house):
    house.program("time.sleep(60)")
    job = launch(house)
    assert "Cancel it" in refusal(cancel, house, job, "JOB_STATE_DRAINED").message
    assert "JOB_STATE_DONE cannot" in refusal(cancel, house, job, "JOB_STATE_DONE").message
    cancel(house, job)


def test_a_second_active_job_of_one_name_is_refused(house):
    house.program("time.sleep(60)")
    first = launch(house)
    error = refusal(launch, house)
    assert error.code == grpc.StatusCode.ALREADY_EXISTS
    assert "active job named export" in error.message
    cancel(house, first)
    house.wait(first.id)
    assert launch(house).id != first.id


def test_lists_are_newest_first_filtered_and_paged(house):
    for name in ("one", "two", "three"):
        house.wait(launch(house, name).id)
    house.program("time.sleep(60)")
    running = launch(house, "four")
    assert listed(house) == (["four", "three", "two", "one"], "")
    assert listed(house, filter="ACTIVE")[0] == ["four"]
    first, token = listed(house, filter="TERMINATED", page_size=2)
    assert first == ["three", "two"]
    assert listed(house, filter="TERMINATED", page_token=token) == (["one"], "")
    assert listed(house, filter="ALL", name="two")[0] == ["two"]
    elsewhere = api.ListJobsRequest(project_id=PROJECT, location="europe-west1")
    assert not house.jobs.list_jobs(elsewhere).jobs
    cancel(house, running)


def test_a_request_that_is_only_validated_starts_nothing(house):
    assert not launch(house, validate_only=True)
    assert listed(house)[0] == []


def test_jobs_outlive_the_server(house):
    house.program("time.sleep(0.3)")
    job = launch(house)
    house.down()
    house.up()
    house.wait(job.id)
    assert get(house, job).current_state == api.JobState.JOB_STATE_DONE


def test_unknown_jobs_and_projects(house):
    request = api.GetJobRequest(job_id="1", **WHERE)
    assert refusal(house.jobs.get_job, request).code == grpc.StatusCode.NOT_FOUND
    request = api.GetJobRequest(project_id="other", job_id="1")
    assert refusal(house.jobs.get_job, request).code == grpc.StatusCode.PERMISSION_DENIED
    request = api.GetJobRequest(project_id=PROJECT, location="us-centrall", job_id="1")
    refused = refusal(house.jobs.get_job, request)
    assert refused.code == grpc.StatusCode.FAILED_PRECONDITION
    assert "invalid regional endpoint (us-centrall)" in refused.message
    assert "Did you mean us-central1?" in refused.message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"job_name": "Export_1"}, "'Export_1' is not a job name"),
        ({"update": True}, "local_gcp does not emulate the field launch_parameter.update"),
        ({"launch_options": {"a": "b"}}, "the field launch_parameter.launch_options"),
        ({"container_spec_gcs_path": "export.json"}, "'export.json' is not gs://BUCKET/OBJECT"),
        ({"container_spec_gcs_path": "gs://a/b"}, "Unable to open template file: gs://a/b."),
        (
            {"container_spec": {"image": "nobody/1", "sdk_info": {"language": "PYTHON"}}},
            "there is no local environment for the image nobody/1",
        ),
        (
            {
                "container_spec": {
                    "image": "example.com/test/plain:1",
                    "sdk_info": {"language": "PYTHON"},
                }
            },
            "images.yaml has no FLEX_TEMPLATE_PYTHON_PY_FILE",
        ),
    ],
)
def test_what_is_refused(house, change, words):
    launch_parameter = {"job_name": "export", "container_spec_gcs_path": house.template}
    launch_parameter["parameters"] = {"source": "gs://data/manifest.csv"}
    if "container_spec" in change:
        del launch_parameter["container_spec_gcs_path"]
    request = api.LaunchFlexTemplateRequest(launch_parameter=launch_parameter | change, **WHERE)
    assert words in refusal(house.jobs.launch_flex_template, request).message
    assert listed(house)[0] == []


def test_status_describes_the_job(house):
    job = launch(house)
    house.wait(job.id)
    (entry,) = house.jobs.describe()
    assert entry["kind"] == "dataflow"
    assert entry["display_name"] == "export"
    assert entry["state"] == "JOB_STATE_DONE"
    assert entry["replicas"][0]["last_line"] == "hello"


def test_the_view_that_airflow_asks_for_is_there_and_others_are_refused_by_name(house):
    request = api.GetJobRequest(job_id="1", view=api.JobView.JOB_VIEW_SUMMARY, **WHERE)
    with pytest.raises(RpcError) as refused:
        house.jobs.get_job(request)
    assert refused.value.code is grpc.StatusCode.NOT_FOUND
    for view in (api.JobView.JOB_VIEW_ALL, -1):
        request.view = view
        with pytest.raises(RpcError) as refused:
            house.jobs.get_job(request)
        assert refused.value.code is grpc.StatusCode.UNIMPLEMENTED


def test_only_a_state_can_be_asked_of_a_job(house):
    house.program("time.sleep(60)")
    job = launch(house)
    for change in ({"labels": {"a": "b"}}, {"transform_name_mapping": {"a": "b"}}):
        wanted = {"requested_state": api.JobState.JOB_STATE_CANCELLED, **change}
        request = api.UpdateJobRequest(job_id=job.id, job=wanted, **WHERE)
        with pytest.raises(RpcError, match=f"field {next(iter(change))} of a job"):
            house.jobs.update_job(request)

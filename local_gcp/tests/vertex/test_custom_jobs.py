"""CustomJobs over gRPC with Google's client, and jobs that really run."""

import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api
from google.cloud.aiplatform_v1.services.job_service.transports import JobServiceGrpcTransport
from google.protobuf import field_mask_pb2

from local_gcp.project import DEFAULT_PROJECT as PROJECT
from local_gcp.project import PROJECT_NUMBER
from local_gcp.vertex.custom_jobs import CustomJobs
from local_gcp.wire import ServiceHandler

PARENT = f"projects/{PROJECT}/locations/us-central1"
JOBS = f"projects/{PROJECT_NUMBER}/locations/us-central1/customJobs/"


@pytest.fixture
def service(runner, tmp_path, monkeypatch):
    images = tmp_path / "images.yaml"
    images.write_text(
        f"- {{image: test/shell, bin: /bin, entrypoint: [sh, -c], cmd: [env], workdir: {tmp_path}}}"
        f"\n- {{image: test/python, bin: {sys.prefix}/bin, entrypoint: [python3]}}"
        "\n- {image: test/none, bin: /bin}"
    )
    monkeypatch.setenv("LOCAL_GCP_IMAGES", str(images))
    return CustomJobs(runner.state, runner)


@pytest.fixture
def client(service):
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers(
        [ServiceHandler("google.cloud.aiplatform_v1.services.job_service", service)]
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield api.JobServiceClient(transport=JobServiceGrpcTransport(channel=channel))
    server.stop(None)


def job(script="true", name="a job", image="test/shell", **fields):
    """A CustomJob that runs a shell script."""
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": image, "args": [script]},
    }
    spec = {"worker_pool_specs": [pool], **fields.pop("spec", {})}
    return api.CustomJob(display_name=name, job_spec=spec, **fields)


@pytest.fixture
def create(client):
    return lambda *args, **fields: client.create_custom_job(
        parent=PARENT, custom_job=job(*args, **fields)
    )


@pytest.fixture
def over(client, until):
    def wait(name):
        until(lambda: client.get_custom_job(name=name).end_time)
        return client.get_custom_job(name=name)

    return wait


@pytest.fixture
def log(runner):
    def read(name, replica="workerpool0-0"):
        return (runner.home.jobs / name.rpartition("/")[2] / replica / "log").read_text()

    return read


def test_a_job_from_creation_to_end(client, create, over, log):
    created = create("sleep 0.2; echo trained", labels={"dag": "digits"})
    assert created.name.startswith(JOBS)
    assert created.state is api.JobState.JOB_STATE_PENDING
    disk = created.job_spec.worker_pool_specs[0].disk_spec
    assert (disk.boot_disk_type, disk.boot_disk_size_gb) == ("pd-ssd", 100)
    done = over(created.name)
    assert done.state is api.JobState.JOB_STATE_SUCCEEDED
    assert done.create_time <= done.start_time < done.end_time <= done.update_time
    assert (done.display_name, done.labels) == ("a job", {"dag": "digits"})
    assert not done.error.message
    assert "trained\n" in log(created.name)


def test_a_failed_job_has_an_error_that_helps(create, over):
    failed = over(create("echo 'no such bucket'; exit 4").name)
    assert failed.state is api.JobState.JOB_STATE_FAILED
    assert failed.error.code == 3
    assert "workerpool0-0 exited with a non-zero status of 4" in failed.error.message
    assert "no such bucket" in failed.error.message


def test_a_cancelled_job(client, create, over, until):
    name = create("sleep 60").name
    until(lambda: client.get_custom_job(name=name).state == api.JobState.JOB_STATE_RUNNING)
    client.cancel_custom_job(name=name)
    cancelled = over(name)
    assert cancelled.state is api.JobState.JOB_STATE_CANCELLED
    assert (cancelled.error.code, cancelled.error.message) == (1, "CANCELED")


def test_what_the_state_does_not_allow(client, create, over):
    name = create("sleep 60").name
    client.cancel_custom_job(name=name)
    over(name)
    with pytest.raises(exceptions.FailedPrecondition, match="CANCELLED and cannot be canceled"):
        client.cancel_custom_job(name=name)


def test_unknown_jobs_and_wrong_names(client):
    for call in (client.get_custom_job, client.cancel_custom_job):
        with pytest.raises(exceptions.NotFound, match="customJobs/1 is not found"):
            call(name=f"{PARENT}/customJobs/1")
        with pytest.raises(exceptions.InvalidArgument, match="customJobs/ID"):
            call(name=f"{PARENT}/models/1")


def test_nothing_of_a_refused_job_stays(client, create, runner):
    with pytest.raises(exceptions.InvalidArgument) as error:
        create(name="")
    assert error.value.details[0].field_violations[0].field == "custom_job.display_name"
    with pytest.raises(exceptions.InvalidArgument, match="there is no local environment for"):
        create(image="gcr.io/unknown:1")
    with pytest.raises(exceptions.InvalidArgument, match=r"custom_job\.labels"):
        create(labels={"Bad": "x"})
    with pytest.raises(exceptions.PermissionDenied):
        client.create_custom_job(parent="projects/other/locations/us-central1", custom_job=job())
    assert list(client.list_custom_jobs(parent=PARENT)) == []
    assert list(runner.home.jobs.iterdir()) == []


def test_a_job_that_would_bury_the_machine_is_refused(create):
    pool = job().job_spec.worker_pool_specs[0]
    workers = api.WorkerPoolSpec(pool)
    workers.replica_count = 1000
    with pytest.raises(exceptions.ResourceExhausted, match="asks for 1001 replicas"):
        create(spec={"worker_pool_specs": [pool, workers]})


def test_sixteen_clients_at_once(client, create, over):
    with ThreadPoolExecutor(16) as clients:
        names = list(clients.map(lambda n: create(f"echo {n}").name, range(16)))
    assert len(set(names)) == 16
    assert {over(name).state for name in names} == {api.JobState.JOB_STATE_SUCCEEDED}


def test_lists_are_filtered_and_paged_newest_first(client, create, over):
    names = [create(name=f"job {n}", labels={"n": str(n % 2)}).name for n in range(5)]
    for name in names:
        over(name)
    assert [j.name for j in client.list_custom_jobs(parent=PARENT)] == names[::-1]
    request = {"parent": PARENT, "filter": "labels.n=1", "page_size": 1}
    assert [j.name for j in client.list_custom_jobs(request)] == [names[3], names[1]]
    request = {"parent": PARENT, "filter": 'state!="JOB_STATE_SUCCEEDED"'}
    assert list(client.list_custom_jobs(request)) == []
    request = {"parent": PARENT, "read_mask": field_mask_pb2.FieldMask(paths=["name", "state"])}
    (first, *_) = client.list_custom_jobs(request)
    assert (first.state, first.display_name) == (api.JobState.JOB_STATE_SUCCEEDED, "")
    elsewhere = f"projects/{PROJECT}/locations/europe-west4"
    assert list(client.list_custom_jobs(parent=elsewhere)) == []
    with pytest.raises(exceptions.InvalidArgument, match="'error' is not supported"):
        client.list_custom_jobs({"parent": PARENT, "filter": "error=x"})


def test_the_environment_of_a_container(create, over, log):
    spec = {"base_output_directory": {"output_uri_prefix": "gs://b/run/"}}
    own = {"container_spec": {"image_uri": "test/shell"}}  # no args: the image's CMD, env
    sent = job(spec=spec)
    pool = sent.job_spec.worker_pool_specs[0]
    pool.container_spec = {
        **own["container_spec"],
        "env": [
            {"name": "MODEL", "value": "$(AIP_MODEL_DIR)1"},
            {"name": "GCS_PATH", "value": "/gcs/b/x"},
        ],
    }
    name = create(spec={**spec, "worker_pool_specs": [pool]}).name
    over(name)
    lines = [line for line in log(name).splitlines() if not line.startswith("local_gcp:")]
    variables = dict(line.split("=", 1) for line in lines)
    assert variables["AIP_MODEL_DIR"] == "gs://b/run/model/"
    assert variables["AIP_CHECKPOINT_DIR"] == "gs://b/run/checkpoints/"
    assert variables["AIP_TENSORBOARD_LOG_DIR"] == "gs://b/run/logs/"
    assert variables["MODEL"] == "gs://b/run/model/1"
    assert variables["GCS_PATH"] == "/gcs/b/x", "left alone"
    assert variables["CLOUD_ML_JOB_ID"] == name.rpartition("/")[2]
    assert variables["CLOUD_ML_PROJECT_ID"] == str(PROJECT_NUMBER)
    assert "CLUSTER_SPEC" in variables
    assert "TF_CONFIG" not in variables, "one replica is not a cluster"


def test_without_an_output_directory_there_are_no_aip_variables(create, over, log):
    name = create("env").name
    over(name)
    assert "AIP_MODEL_DIR" not in log(name)


def test_a_distributed_job_with_an_empty_pool(create, over, log):
    pool = job("echo $TF_CONFIG; sleep 0.5").job_spec.worker_pool_specs[0]
    servers = api.WorkerPoolSpec(pool)
    servers.replica_count = 2
    name = create(spec={"worker_pool_specs": [pool, {}, servers]}).name
    assert over(name).state is api.JobState.JOB_STATE_SUCCEEDED
    assert '"ps": ["127.0.0.1:' in log(name)
    assert '"type": "ps", "index": 1' in log(name, "workerpool2-1")


def test_accelerators_run_on_the_cpu_and_log_and_program_know_it(create, over, log):
    pool = job("echo $LOCAL_GCP_ACCELERATORS accelerators").job_spec.worker_pool_specs[0]
    pool.machine_spec.accelerator_type = api.AcceleratorType.NVIDIA_TESLA_T4
    pool.machine_spec.accelerator_count = 2
    name = create(spec={"worker_pool_specs": [pool]}).name
    assert over(name).state is api.JobState.JOB_STATE_SUCCEEDED
    assert "2 x NVIDIA_TESLA_T4 requested" in log(name)
    assert "2 accelerators" in log(name)


def test_an_image_without_command_is_refused(create):
    pool = job().job_spec.worker_pool_specs[0]
    pool.container_spec = {"image_uri": "test/none"}
    with pytest.raises(exceptions.InvalidArgument, match=r"container_spec\.command"):
        create(spec={"worker_pool_specs": [pool]})


def test_status_and_preemption(client, service, create, over, until):
    name = create("echo working; sleep 60", spec={"scheduling": {"strategy": "SPOT"}}).name
    until(lambda: service.status()[0]["replicas"])
    until(lambda: service.status()[0]["replicas"][0]["last_line"] == "working")
    (status,) = service.status()
    assert status["name"] == name
    assert (status["kind"], status["state"], status["cores"]) == ("custom", "JOB_STATE_RUNNING", 1)
    replica = status["replicas"][0]
    assert (replica["type"], replica["attempt"], replica["state"]) == ("chief", 1, "running")
    assert service.preempt(name)
    until(lambda: service.status()[0]["replicas"][0]["attempt"] == 2)
    assert service.status()[0]["preemptions"] == 1
    assert not service.preempt("1")
    client.cancel_custom_job(name=name)
    over(name)

"""Programs of a container image, run by runc as jobs: what they see, may do, and how they end."""

import os
from pathlib import Path

import pytest

from local_gcp.jobs import images, oci
from local_gcp.jobs.images import ImageError, find_image
from local_gcp.jobs.run import Pool, Program, Spec
from tests.jobs.layouts import Layer, programs, write_layout

needs_runc = pytest.mark.skipif(
    oci.needs() is not None, reason=f"containers need {oci.needs()}: apt-get install runc, as root"
)

PASSWD = "root:x:0:0:root:/root:/bin/sh\nmodel:x:1000:1000::/home/model:/bin/sh\n"


@pytest.fixture
def image(tmp_path, monkeypatch):
    """image(User="1000"): an image with a shell; what images.yaml then says of it."""

    def make(memory="64M", **config):
        programs_ = programs("sh", "cat", "env", "id", "ls", "sleep", "tail")
        config = {"Entrypoint": ["sh", "-c"], "Env": ["PATH=/bin", "GREETING=hello"], **config}
        files = Layer({"etc/passwd": PASSWD, "app/data": "of the image\n"})
        write_layout(tmp_path / "layout", config, programs_, files)
        file = tmp_path / "images.yaml"
        file.write_text(f"- {{image: app, oci: '${{HERE}}/layout', memory: {memory}}}")
        monkeypatch.setenv("LOCAL_GCP_IMAGES", str(file))
        return find_image("app")

    return make


@pytest.fixture
def run(runner, until):
    """run(image, script): runs it as a job; its exit code and log, without our own lines."""

    def run(image, script, **env):
        program = Program(image.command([], [script]), {**image.environment(), **env}, "/")
        runner.submit("1", Spec([Pool(program)], disable_retries=True))
        until(lambda: runner.get("1").final)
        (replica,) = runner.get("1").replicas
        log = (runner.home.jobs / "1/workerpool0-0/log").read_text()
        return replica.exit.code, [x for x in log.splitlines() if not x.startswith("local_gcp:")]

    return run


@needs_runc
def test_it_runs_as_the_image_says(image, run):
    job = image(WorkingDir="/app", User="model")
    code, log = run(job, "cat data; id -u; echo $GREETING $HOME $0; exit 3")
    assert log == ["of the image", "1000", "hello /home/model sh"]
    assert code == 3


@needs_runc
def test_it_sees_its_own_processes_alone(image, run):
    _, log = run(image(), "ls -d /proc/[0-9]*; cat /proc/1/comm")
    assert log == ["/proc/1", "sh"]


@needs_runc
def test_buckets_are_at_gcs(image, run, runner):
    (runner.home.buckets / "bucket").mkdir()
    code, _ = run(image(), "echo written > /gcs/bucket/object; echo ${GCS_ROOT:-none}")
    assert code == 0
    assert (runner.home.buckets / "bucket/object").read_text() == "written\n"


@needs_runc
def test_a_model_server_sees_no_bucket(image, run, runner):
    (runner.home.buckets / "bucket").mkdir()
    _, log = run(image(), "ls /gcs/bucket", AIP_MODE="PREDICTION")
    assert "No such file" in log[-1]


@needs_runc
@pytest.mark.parametrize("user", ["root", "1000"])
def test_only_tmp_can_be_written(image, run, user):
    job = image(User=user)
    _, log = run(job, "for f in /a /app/a /etc/a /tmp/a; do (: > $f) 2>/dev/null && echo $f; done")
    assert log == ["/tmp/a"]
    assert not (Path(oci.read(Path(job.bin)).rootfs) / "app/a").exists()


@needs_runc
@pytest.mark.parametrize(("user", "reported"), [("root", "{}\n"), ("1000", "")])
def test_the_tuners_file_is_roots_as_on_vertex(image, run, runner, user, reported):
    _, log = run(
        image(User=user), "echo $CLOUD_ML_HP_METRIC_FILE; echo '{}' > $CLOUD_ML_HP_METRIC_FILE"
    )
    # The shell's error may come first: a container's two outputs are two pipes.
    assert "/var/hypertune/output.metrics" in log
    assert runner.metrics_file("1").read_text() == reported


@needs_runc
def test_its_user_can_read_the_files_that_variables_name(image, run, tmp_path):
    key = tmp_path / "key.json"
    key.write_text("secret\n")
    key.chmod(0o600)
    script = "cat $GOOGLE_APPLICATION_CREDENTIALS; echo $GOOGLE_APPLICATION_CREDENTIALS"
    _, log = run(image(User="1000"), script, GOOGLE_APPLICATION_CREDENTIALS=str(key))
    assert log == ["secret", "/etc/local_gcp/key.json"]


@needs_runc
def test_too_much_memory_ends_it(image, run):
    code, _ = run(image(memory="16M"), "exec tail /dev/zero")
    assert code == 137


@needs_runc
def test_it_is_told_to_end_and_has_time_to(image, runner, until):
    job = image()
    script = "trap 'echo saved; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    runner.submit("1", Spec([Pool(Program(job.command([], [script]), job.environment(), "/"))]))
    log = runner.home.jobs / "1/workerpool0-0/log"
    until(lambda: log.exists() and "ready" in log.read_text())
    runner.cancel("1")
    until(lambda: runner.get("1").final)
    assert "saved" in log.read_text()
    assert runner.get("1").replicas[0].exit.code == 5


@needs_runc
def test_who_does_not_end_is_killed(image, runner, until):
    """A program without a handler for SIGTERM does not even notice it as process 1."""
    job = image()
    script = "echo ready; while :; do sleep 0.05; done"
    runner.submit("1", Spec([Pool(Program(job.command([], [script]), job.environment(), "/"))]))
    log = runner.home.jobs / "1/workerpool0-0/log"
    until(lambda: log.exists() and "ready" in log.read_text())
    runner.cancel("1")
    until(lambda: runner.get("1").final)
    assert runner.get("1").state == "cancelled"


def test_without_runc_or_root_the_image_is_refused(image, monkeypatch):
    monkeypatch.setattr(images.oci, "needs", lambda: "runc")
    with pytest.raises(ImageError, match="cannot be run: runc is missing"):
        image()


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ("{image: x, oci: /l, bin: /b}", "`image` and either `bin` or `oci`"),
        ("{image: x, oci: /l, env: {A: b}}", "unknown key 'env'; there are image, memory, oci"),
        ("{image: x, oci: /l, memory: 4 GB}", "memory is '4 GB'; write it as 512M or 4G"),
    ],
)
def test_a_wrong_entry_is_refused(tmp_path, monkeypatch, entry, complaint):
    file = tmp_path / "images.yaml"
    file.write_text(f"- {entry}")
    monkeypatch.setenv("LOCAL_GCP_IMAGES", str(file))
    with pytest.raises(ImageError, match=complaint):
        find_image("x")


def test_a_folder_that_holds_no_image_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(images.oci, "needs", lambda: None)
    file = tmp_path / "images.yaml"
    file.write_text("- {image: x, oci: '${HERE}'}")
    monkeypatch.setenv("LOCAL_GCP_IMAGES", f"{file}{os.pathsep}")
    with pytest.raises(ImageError, match="is no OCI image layout"):
        find_image("x")

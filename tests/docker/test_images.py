"""docker/Dockerfile as it stands: each image starts, as its user, and does its part of a run."""

import json
import os
import signal
import subprocess
import sys
import tomllib

import pytest

from local_gcp.jobs import oci
from tests.docker import builder
from tests.docker.asking import ask, free_port, wait_for, wait_for_port
from tests.docker.builder import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

MEGABYTE = 1e6
MOST_MEGABYTES = {"trainer": 2000, "serve": 1500, "export": 1300}
"""Unpacked, with the 250 MB of the base that stands in for the official one (about 130 MB)."""

# By this name the launcher's container tells the workers' where it is.
NETWORK = ("--network=host", "--hostname=localhost")
CONTAINER = ROOT / "local_gcp/src/local_gcp/jobs/container.py"

# A table of 200 rows, malignant where x is large, as the workflow's extract leaves it.
MAKE_TABLE = """
import json, pathlib
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from trellis_contracts.dataset import SPLITS
from trainer.exporting.splits import assign

ranges = {"train": (0, 80), "validation": (80, 90), "test": (90, 100)}
keys = [f"row {number}" for number in range(200)]
x = np.random.default_rng(1).normal(size=len(keys))
columns = {
    "key": keys,
    "split": [SPLITS[i] for i in assign(keys, ranges).tolist()],
    "label": np.where(x > 0, "yes", "no"),
    "x": x,
}
folder = pathlib.Path("/data/table")
folder.mkdir()
pq.write_table(pa.table(columns), folder / "rows-000000000000.parquet")
source = {"table": "p.d.t", "query": None, "partition": None, "snapshot": "p.d.s", "rows": 200}
(folder / "columns.json").write_text(json.dumps({
    "schema": 1, "task": "binary_classification", "split": ranges, "key": {"name": "key"},
    "label": {"name": "malignant"}, "vocabulary": 1000, "source": source,
    "features": [{"name": "x", "column": "x", "type": "FLOAT64", "kind": "numeric"}],
}))
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder that all containers see at /data."""
    folder = tmp_path_factory.mktemp("data")
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def run(container, data):
    """run("serve", "id"): a program in that image, with a root it may write to; what it printed."""

    def run(target, *argv, **environment):
        variables = [f"--env={name}={value}" for name, value in environment.items()]
        command = builder.command(
            container(target), argv, f"--volume={data}:/data", *NETWORK, *variables
        )
        done = subprocess.run(
            command, env=builder.environment(), capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return done.stdout

    return run


@pytest.mark.parametrize("target", builder.TARGETS)
def test_it_is_small_enough_for_a_cold_start(run, target):
    size = int(
        run(target, "sh", "-c", "du -sx --block-size=1000000 / 2>/dev/null; true").split()[0]
    )
    print(f"{target}: {size} MB")
    assert size <= MOST_MEGABYTES[target]


@pytest.mark.parametrize("target", builder.TARGETS)
def test_the_contracts_are_installed_as_a_package(run, target):
    finds = "from importlib.metadata import version; print(version('trellis-contracts'))"
    project = tomllib.loads((ROOT / "contracts/pyproject.toml").read_text())["project"]
    assert run(target, "python", "-c", finds).strip() == project["version"]


@pytest.mark.parametrize("target", builder.TARGETS)
def test_the_packages_agree_with_one_another(run, target):
    assert "No broken requirements" in run(target, "python", "-m", "pip", "check")


@pytest.mark.parametrize(
    ("target", "absent"),
    [("trainer", "apache_beam"), ("serve", "sklearn"), ("export", "tensorflow")],
)
def test_no_image_has_what_another_is_for(run, target, absent):
    finds = f"import importlib.util; print(importlib.util.find_spec({absent!r}))"
    assert run(target, "python", "-c", finds) == "None\n"


def test_the_commands_of_the_trainer_are_there(run):
    assert "usage: python -m trainer COMMAND" in run("trainer", "python", "-m", "trainer", "--help")
    for command in ("train", "compare"):
        assert "usage" in run("trainer", "python", "-m", "trainer", command, "--help")
    assert "usage" in run("export", "python", "-m", "trainer", "export", "--help")
    assert "usage" in run("serve", "python", "-m", "trainer", "serve", "--help")


def test_who_serves_can_write_to_temporary_folders_alone(run):
    assert run("serve", "id", "-u") == "1000\n"
    search = "find / -xdev -writable -not -type l -not -path '/proc/*' 2>/dev/null"
    found = run("serve", "sh", "-c", f"{search}; true").split()
    mine = {path for path in found if not path.startswith(("/data", "/dev/"))}
    assert mine <= {"/tmp", "/var/tmp", "/run/lock"}


def test_dataflows_workers_and_launcher_do_an_export(run, container, data):
    """The steps are Dataflow's: the launcher hands the pipeline over, and boot starts what runs
    it.
    """
    run("export", "python", "-c", MAKE_TABLE)
    image = builder.inspect("localhost/trellis/export:test")["OCIv1"]["config"]
    assert image["Entrypoint"] == ["/opt/apache/beam/boot"]
    assert image.get("User", "") == "", "the launcher and boot have to be root"
    pool = subprocess.Popen(
        builder.command(
            container("export"),
            [*image["Entrypoint"], "--worker_pool"],
            *(f"--volume={data}:/data", *NETWORK),
        ),
        env=builder.environment(),
        start_new_session=True,
    )
    try:
        wait_for_port(50000, pool)
        printed = run(
            "export",
            "/opt/google/dataflow/python_template_launcher",
            *("--source=/data/table/columns.json", "--output=/data/dataset", "--fingerprint=f"),
            "--shards=2",
            *("--runner=PortableRunner", "--job_endpoint=embed"),
            *("--environment_type=EXTERNAL", "--environment_config=localhost:50000"),
        )
    finally:
        os.killpg(pool.pid, signal.SIGTERM)
        pool.wait(timeout=60)
    assert "committed /data/dataset/dataset.json" in printed
    assert json.loads((data / "dataset/dataset.json").read_text())["fingerprint"] == "f"


def test_boot_needs_no_environment_of_its_own(run):
    """Boot would make one in a folder that only root may write, with seconds for each worker."""
    assert run("export", "printenv", "RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT") == "1\n"
    run("export", "sh", "-c", "test ! -e /opt/apache/beam-venv")


def test_a_trial_trains_and_reports(run, data):
    printed = run(
        *("trainer", "python", "-m", "trainer.task", "--dataset=/data/dataset", "--model=dense"),
        *("--task=binary_classification", "--metric=auc", "--epochs=2", "--output=/data/model"),
        CLOUD_ML_TRIAL_ID="1",
        CLOUD_ML_HP_METRIC_FILE="/var/hypertune/output.metrics",
    )
    assert "epoch 2/2" in printed
    measured = run("trainer", "cat", "/var/hypertune/output.metrics").splitlines()
    assert [json.loads(line)["global_step"] for line in measured] == ["1", "2"]


def test_the_model_is_served_from_a_root_that_is_read_only(data, tmp_path):
    """In a real container: no rights, no other processes, little memory."""
    image = oci.read(builder.layout("serve"))
    spec = {
        "rootfs": str(oci.unpack(image)),
        "user": image.user,
        "workdir": image.workdir,
        "memory": 2 * 2**30,
    }
    port = free_port()
    environment = {
        **image.env,
        "AIP_HTTP_PORT": str(port),
        "AIP_HEALTH_ROUTE": "/health",
        "AIP_PREDICT_ROUTE": "/predict",
        "GCS_ROOT": str(data),
        "LOCAL_GCP_ATTEMPT": str(tmp_path),
    }
    argv = [*image.entrypoint, "--model=/gcs/model/model"]
    server = subprocess.Popen(
        [sys.executable, "-I", "-S", CONTAINER, json.dumps(spec), *argv], env=environment
    )
    try:
        wait_for_port(port, server)
        assert wait_for(lambda: ask(port, "/health")) == (200, b"")
        code, answer = ask(port, "/predict", instances=[{"x": 2.5}, {"x": None}])
        assert code == 200
        large, _ = json.loads(answer)["predictions"]
        assert set(large["probabilities"]) == {"yes", "no"}
    finally:
        server.terminate()
        assert server.wait(timeout=60) == 0, "SIGTERM ends it in order"


@pytest.mark.parametrize(
    "requirements", sorted(ROOT.glob("dags/experiments/images/*.txt")), ids=lambda file: file.stem
)
def test_an_own_image_is_the_trainers_with_the_packages_of_its_file(built, requirements):
    built("trainer")
    image = builder.container(builder.build_own(requirements))
    wanted = [line for line in requirements.read_text().splitlines() if line[:1].isalpha()]
    finds = """import importlib.metadata, json, sys
from trellis_contracts import VERSION
print(json.dumps({name: importlib.metadata.version(name) for name in sys.argv[1:]}))"""
    names = [line.partition("==")[0] for line in wanted]
    try:
        command = builder.command(image, ["python", "-c", finds, *names])
        done = subprocess.run(
            command, env=builder.environment(), capture_output=True, text=True, check=True
        )
    finally:
        builder.remove(image)
    assert json.loads(done.stdout) == dict(line.split("==") for line in wanted)

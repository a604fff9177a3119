"""The distribution alone: built, installed into an empty environment, used from an empty folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
UV = PACKAGE.parent / ".venv/tools/bin/uv"
# A user's program: a bucket, a query, and a custom job that writes into the bucket.
USE = """
import os, sys
from google.cloud import aiplatform, bigquery, storage

storage.Client().create_bucket("empty-folder")
(row,) = bigquery.Client().query_and_wait("SELECT 6 * 7 AS answer")
assert row.answer == 42
project = os.environ["GOOGLE_CLOUD_PROJECT"]  # without it, the SDK would use REST
aiplatform.init(project=project, location="europe-west4", staging_bucket="gs://empty-folder")
code = "import os; open(os.environ['GCS_ROOT'] + '/empty-folder/result', 'w').write('trained')"
container = {"image_uri": "example.com/own/python:1", "args": ["-c", code]}
pool = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}
job = aiplatform.CustomJob("own", [{**pool, "container_spec": container}])
job.run()
assert job.state.name == "JOB_STATE_SUCCEEDED"
print(storage.Client().bucket("empty-folder").blob("result").download_as_text())
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The folder of a virtual environment with the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("wheel")
    uv = [str(UV)] if UV.exists() else [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "build", "--quiet", "--wheel", "-o", folder, PACKAGE], check=True)
    (wheel,) = folder.glob("local_gcp-*.whl")
    python = folder / "environment/bin/python"
    subprocess.run([*uv, "venv", "-q", "-p", sys.executable, python.parents[1]], check=True)
    # The pins of every day's tests, from uv's cache.
    pins = ["--constraint", PACKAGE / "requirements.txt"]
    subprocess.run([*uv, "pip", "install", "-q", "-p", python, wheel, *pins], check=True)
    return python.parents[1]


@pytest.mark.slow
def test_from_an_empty_folder(environment, tmp_path):
    (tmp_path / "images.yaml").write_text(
        f"- {{image: 'example.com/own/*', bin: {environment}/bin, entrypoint: [python]}}"
    )
    (tmp_path / "use.py").write_text(USE)
    env = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    env["PATH"] = f"{environment}/bin:/usr/bin:/bin"

    def command(line):
        shell = ["sh", "-c", line]
        done = subprocess.run(shell, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    assert "local_gcp is up" in command("local-gcp up --images images.yaml")
    try:
        shown = command('eval "$(local-gcp env)"; python use.py')
        assert shown.splitlines()[-1] == "trained"
        assert "own" in command("local-gcp status")
    finally:
        assert "stopped" in command("local-gcp down")
    assert sorted(os.listdir(tmp_path)) == [".local", "images.yaml", "use.py"]

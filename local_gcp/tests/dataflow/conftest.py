"""A Dataflow with a runner of its own, and a template whose program is a few lines."""

import json
import sys
import textwrap
import time
from pathlib import Path

import pytest

from local_gcp.dataflow.jobs import Jobs
from local_gcp.home import Home
from local_gcp.jobs.runner import Runner
from local_gcp.project import DEFAULT_PROJECT as PROJECT
from local_gcp.state import State

PARAMETERS = [
    {"name": "source", "label": "Source", "helpText": "Manifest", "regexes": ["gs://.+"]},
    {"name": "size", "label": "Size", "helpText": "Pixels", "isOptional": True},
]


class DataflowHouse:
    """`program(...)` writes the template's program, `jobs` is the API on top of a real runner."""

    template = "gs://templates/export.json"

    def __init__(self, root: Path):
        self.root = root
        self.home = Home(root / "home")
        self.home.create()
        self.write_template()
        self.program("print('hello')")
        self.up()

    def up(self):
        self.state = State(self.home.state)
        self.runner = Runner(self.home, self.state, {"GCS_ROOT": str(self.home.buckets)}, cores=2)
        self.runner.start()
        self.jobs = Jobs(self.state, self.runner, self.home.buckets, PROJECT)

    def down(self):
        self.runner.stop()
        self.state.close()

    def program(self, text):
        (self.root / "main.py").write_text("import os, sys, time\n" + textwrap.dedent(text))

    def write_template(self, **changes):
        spec = {
            "image": "example.com/test/export:1",
            "sdkInfo": {"language": "PYTHON"},
            "metadata": {"name": "Export", "parameters": PARAMETERS},
        }
        path = self.home.buckets / "templates/export.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(spec | changes))

    def state_of(self, job_id):
        run = self.runner.get(job_id)
        return run.state

    def wait(self, job_id, *states, timeout=60):
        states = states or ("succeeded", "failed", "cancelled")
        deadline = time.monotonic() + timeout
        while self.state_of(job_id) not in states:
            assert time.monotonic() < deadline, self.runner.get(job_id)
            time.sleep(0.02)

    def log(self, job_id):
        return (self.home.jobs / job_id / "workerpool0-0/log").read_text()


@pytest.fixture
def house(tmp_path, monkeypatch):
    images = tmp_path / "images.yaml"
    images.write_text(
        f"""
        - image: "example.com/test/export:*"
          bin: {Path(sys.executable).parent}
          workdir: {tmp_path}
          env:
            FLEX_TEMPLATE_PYTHON_PY_FILE: main.py
        - image: "example.com/test/plain:*"
          bin: {Path(sys.executable).parent}
        """
    )
    monkeypatch.setenv("LOCAL_GCP_IMAGES", str(images))
    a_house = DataflowHouse(tmp_path)
    yield a_house
    a_house.down()

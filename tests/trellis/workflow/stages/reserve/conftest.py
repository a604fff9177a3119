"""Deployments with a server that starts in an instant, and the DAG that serves a champion anew."""

import json

import pytest

from tests.airflow_side import run_dag, store
from tests.trellis.workflow.stages.deploy.conftest import deployments, states  # noqa: F401
from trellis.workflow.assembly import reserve
from trellis_contracts import job_image


class Reserves:
    """An experiment's deployments, and its DAG EXPERIMENT-reserve."""

    def __init__(self, deployed, monkeypatch):
        self.deployed, self._monkeypatch = deployed, monkeypatch
        self.dag = reserve.build(deployed.experiment, deployed.platform)
        for task in self.dag.tasks:
            task.retries = 0

    def release(self, tag):
        """Today's images are of another version of Trellis."""
        self._monkeypatch.setattr(job_image, "TAG", tag)

    def run(self, tag=None):
        if tag is not None:
            self.release(tag)
        if self.deployed.experiment.deploy.keep_previous:
            store(self.deployed.undeploy_dag)
        return run_dag(self.dag)

    def model(self, number):
        """The Model message of a version."""
        return self.deployed.models.get_model(name=self.deployed.version(number))

    @property
    def record(self):
        """deployment.json of the last run, in the folder of the run that trained the model."""
        (folder,) = self.deployed.folder.glob("reserve-*")
        return json.loads((folder / "deployment.json").read_text())

    @property
    def index(self):
        """The records of runs that have ended."""
        bucket = self.deployed.google.buckets / self.deployed.platform.bucket
        files = (bucket / "_index" / self.deployed.name / "reserves").glob("*.json")
        return [json.loads(file.read_text()) for file in files]


@pytest.fixture
def reserves(deployments, monkeypatch):  # noqa: F811
    """A model in service, and what serves it anew, in one step."""

    def make():
        deployed = deployments(canary=[100])
        assert deployed.run().state == "success"
        return Reserves(deployed, monkeypatch)

    return make

"""The console's pages, as Google's clients and documentation link them."""

import importlib
import pkgutil
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from google.cloud import aiplatform

import trellis
from trellis import console, vertex
from trellis.vertex.base import VertexTask
from trellis.vertex.datasets import DatasetOperator
from trellis.vertex.links import ConsoleLink

ROOT = "https://console.cloud.google.com/"
IN = "projects/p-1/locations/us-central1/"


@pytest.mark.parametrize(
    ("kind", "collection"),
    [
        (aiplatform.CustomJob, "customJobs"),
        (aiplatform.HyperparameterTuningJob, "hyperparameterTuningJobs"),
        (aiplatform.BatchPredictionJob, "batchPredictionJobs"),
        (aiplatform.CustomContainerTrainingJob, "trainingPipelines"),
    ],
)
def test_a_jobs_page_is_that_of_googles_client(monkeypatch, kind, collection):
    name = f"{IN}{collection}/42"
    monkeypatch.setattr(kind, "resource_name", name)
    assert console.vertex(name) == kind.__new__(kind)._dashboard_uri()


def test_models_and_endpoints_have_the_lists_that_google_documents():
    versions, endpoints = f"{IN}models/digits@2", f"{IN}endpoints/digits"
    assert console.vertex(versions) == ROOT + "agent-platform/models?project=p-1"
    online = ROOT + "agent-platform/online-prediction/endpoints?project=p-1"
    assert console.vertex(endpoints) == online


def test_other_services():
    assert console.dataflow("p", "r", "1") == ROOT + "dataflow/jobs/r/1?project=p"
    query = "bigquery?project=p&j=bq:US:job_1&page=queryresults"
    assert console.bigquery("p", "US", "job_1") == ROOT + query
    assert console.bucket("gs://b/a folder/") == ROOT + "storage/browser/b/a%20folder"
    assert console.quotas("p") == ROOT + "iam-admin/quotas?project=p"


def test_a_tasks_link_is_its_resources_page():
    pushed = {}

    class Task:
        def xcom_push(self, key, value):
            pushed[key] = value

    ConsoleLink.remember({"ti": Task()}, f"{IN}customJobs/42")
    link = ConsoleLink()._format_link(**pushed[ConsoleLink.key])
    assert link == console.vertex(f"{IN}customJobs/42")


def operators(kind=VertexTask):
    """The operators that tasks are made of, with the provider's that each derives from."""
    for base in kind.__mro__:
        if base.__module__.startswith("airflow.providers.google.cloud.operators.vertex_ai"):
            yield kind, base
            break
    for child in kind.__subclasses__():
        yield from operators(child)


def test_every_operator_links_to_the_present_console_beside_the_providers_links():
    """The provider's lead below the former `vertex-ai/`; for a dataset there is no other page."""
    for module in pkgutil.iter_modules(vertex.__path__, f"{vertex.__name__}."):
        importlib.import_module(module.name)
    found = dict(operators())
    assert len(found) > 10
    for kind, provider in found.items():
        wanted = [type(link) for link in getattr(provider, "operator_extra_links", ())]
        if kind is not DatasetOperator:
            wanted.append(ConsoleLink)
        assert [type(link) for link in kind.operator_extra_links] == wanted, kind


def test_the_providers_links_get_project_and_region():
    """Without them a link is empty."""
    for kind in dict(operators()):
        task = SimpleNamespace(project_id="p", region="r")
        assert kind.extra_links_params.fget(task) == {"project_id": "p", "region": "r"}, kind


def test_no_other_module_forms_a_link_to_the_console():
    modules = Path(trellis.__file__).parent.rglob("*.py")
    found = {
        path.name for path in modules if re.search(r"console\.cloud\.google", path.read_text())
    }
    assert found == {"console.py"}

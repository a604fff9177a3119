"""The command, and the requests that it makes of a real project."""

import json
import re
import shutil
from pathlib import Path

import googleapiclient
import pytest

from tests.airflow_side import ROOT
from tests.wording import says
from trellis.__main__ import main
from trellis.google_api import GoogleApi, RefusedError

DISCOVERY = Path(googleapiclient.__file__).parent / "discovery_cache/documents"


@pytest.fixture(autouse=True)
def prices_are_not_old(monkeypatch):
    monkeypatch.setattr("trellis.doctor.diagnoses.prices._OLD_DAYS", 100_000)


@pytest.fixture
def folder(tmp_path):
    """A group's folder: the demo's, with the bucket and the dataset of these tests."""
    shutil.copytree(ROOT / "dags", tmp_path / "dags")
    file = tmp_path / "dags/platform.yaml"
    text = file.read_text().replace("trellis-local", "doctor")
    file.write_text(text.replace("dataset: trellis", "dataset: doctor"))
    return file.parent


def test_a_project_in_which_all_is_well(plant, folder, capsys):
    assert main(["doctor", str(folder)]) == 0
    out = capsys.readouterr().out
    experiments = len(list((folder / "experiments").glob("*.yaml")))
    first = f"Project local-gcp in us-central1, {experiments} experiments\nas local-gcp@local-gcp"
    assert first in out
    assert re.search(r"Job images +good +trainer:\S+ sha256:", out)
    assert "\nNothing to fix." in out


def test_a_fault(plant, folder, capsys):
    plant(missing_permissions=["bigquery.jobs.create"])
    assert main(["doctor", str(folder)]) == 1
    out = capsys.readouterr().out
    assert re.search(r"Permissions: project +1 to fix", out)
    assert "\n1. local-gcp@local-gcp.iam.gserviceaccount.com lacks bigquery.jobs.create" in out
    assert "   With it Airflow runs queries.\n   gcloud projects add-iam-policy-binding" in out


def test_what_the_caller_may_not_look_at_is_no_fault(plant, folder, capsys, monkeypatch):
    get = GoogleApi.get

    def refused(self, url, **parameters):
        if "compute.googleapis.com" in url:
            raise RefusedError(403, "Required 'compute.networks.get' permission")
        return get(self, url, **parameters)

    monkeypatch.setattr(GoogleApi, "get", refused)
    assert main(["doctor", str(folder)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"Network +no access", out)
    assert says(out, "?  Network", "'compute.networks.get'")
    assert "--role=roles/compute.networkViewer" in out


def test_files_with_problems(tmp_path, capsys):
    assert main(["doctor", str(tmp_path)]) == 1
    assert "platform.yaml" in capsys.readouterr().err


def test_an_api_that_is_asked_and_off_is_told_as_such(plant, folder, capsys):
    plant(disabled_apis=["compute.googleapis.com"])
    assert main(["doctor", str(folder)]) == 1
    out = capsys.readouterr().out
    assert out.count("services enable compute.googleapis.com") == 3


def methods(host):
    """(verb, pattern) of Google's discovery document of an API."""
    name = host.removesuffix(".googleapis.com")
    for file in DISCOVERY.glob(f"{name}.v*.json"):
        document = json.loads(file.read_text())
        if document["rootUrl"] == f"https://{host}/" and not re.search(
            "alpha|beta(?!1)", file.name
        ):
            yield from _methods(document, document["servicePath"])


def _methods(node, prefix):
    for resource in node.get("resources", {}).values():
        yield from _methods(resource, prefix)
        for method in resource.get("methods", {}).values():
            path = prefix + method["path"]
            pattern = re.sub(r"\\\{\\?\+?\w+\\\}", "(.+)", re.escape(path))
            yield method["httpMethod"], re.compile(pattern)


def test_each_request_is_one_that_google_documents(target, plant, monkeypatch):
    """Against the discovery documents that Google's own client library brings along."""
    import io

    from trellis.doctor.runner import diagnose

    asked = set()
    ask = GoogleApi._ask

    def record(self, method, url, **arguments):
        asked.add((method, url))
        return ask(self, method, url, **arguments)

    monkeypatch.setattr(GoogleApi, "_ask", record)
    diagnose(target(), io.StringIO())
    assert len({url.split("/")[2] for _, url in asked}) >= 9
    for method, url in asked:
        host, _, path = url.removeprefix("https://").partition("/")
        known = [pattern for verb, pattern in methods(host) if verb == method]
        assert any(pattern.fullmatch(path) for pattern in known), f"{method} {url}"

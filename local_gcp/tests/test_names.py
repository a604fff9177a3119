"""Resource names."""

import ast
import re
from pathlib import Path

import google.cloud.aiplatform_v1
import grpc
import pytest

from local_gcp import names
from local_gcp import project as settings
from local_gcp.project import DEFAULT_PROJECT as PROJECT
from local_gcp.project import PROJECT_NUMBER
from local_gcp.wire import RpcError

LOCATION = f"projects/{PROJECT_NUMBER}/locations/us-central1"


@pytest.mark.parametrize("project", [PROJECT, PROJECT_NUMBER])
def test_the_project_is_known_by_id_and_number(project):
    assert names.location(f"projects/{project}/locations/us-central1") == LOCATION
    name = f"projects/{project}/locations/us-central1/customJobs/1"
    assert names.resource(name, "customJobs") == f"{LOCATION}/customJobs/1"
    assert names.with_number(name) == f"{LOCATION}/customJobs/1"


def test_another_project_is_refused_and_this_one_named():
    with pytest.raises(RpcError, match=PROJECT) as refusal:
        names.location("projects/typo/locations/us-central1")
    assert refusal.value.code is grpc.StatusCode.PERMISSION_DENIED


def test_a_region_that_does_not_exist_is_answered_as_by_googles_front_end():
    with pytest.raises(RpcError, match=r"status: 404.*no region 'us-centrall'") as refusal:
        names.location(f"projects/{PROJECT}/locations/us-centrall")
    assert refusal.value.code is grpc.StatusCode.UNIMPLEMENTED
    assert "Did you mean us-central1?" in refusal.value.message


def test_the_regions_are_those_of_googles_client():
    folder = Path(google.cloud.aiplatform_v1.__file__).parents[1] / "aiplatform"
    # The text, since importing the package takes seconds.
    said = (folder / "constants/base.py").read_text()
    known = re.search(r"SUPPORTED_REGIONS = frozenset\((.*?)\)", said, re.DOTALL)[1]
    assert ast.literal_eval(known.strip()) - {"global"} == settings.REGIONS


def test_regions_may_be_fewer_and_others(monkeypatch):
    monkeypatch.setenv("LOCAL_GCP_REGIONS", "moon-north1,europe-west4")
    names.location(f"projects/{PROJECT}/locations/moon-north1")
    with pytest.raises(RpcError, match="One that exists is europe-west4"):
        names.location(f"projects/{PROJECT}/locations/us-central1")


@pytest.mark.parametrize(
    "name",
    ["1", "projects/p", f"{LOCATION}/models/1", f"{LOCATION}/customJobs/1/x", f"{LOCATION}"],
)
def test_other_forms_are_refused(name):
    with pytest.raises(RpcError, match="Invalid CustomJob resource name"):
        names.resource(name, "customJobs")


def test_ids_are_numbers_and_distinct():
    ids = {names.new_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(one.isdigit() for one in ids)

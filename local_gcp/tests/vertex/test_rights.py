"""A container without a service account sees nothing of the project's, as on Vertex AI."""

import base64
import json
import sys
from pathlib import Path

import pytest

from local_gcp import rights
from local_gcp.certificates import TENANT

PROGRAMS = Path(__file__).with_name("programs")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Read what a container could read: the model's files, an object, a query, a list of models."""
    from local_gcp.testing import LocalGcp

    folder = tmp_path_factory.mktemp("rights")
    images = folder / "images.yaml"
    images.write_text(f"- image: example.com/python*\n  bin: {Path(sys.executable).parent}\n")
    server = LocalGcp(folder / "home", {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCAL_GCP_IMAGES", str(images))
        patch.setenv("LOCAL_GCP_VARIANTS", "operation-seconds=0")
        server.up()
        try:
            out = server.run(PROGRAMS / "rights.py", str(PROGRAMS / "reading_server.py"))
        finally:
            server.down()
    return json.loads(out.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("way", ["endpoint", "batch"])
def test_without_an_account_only_the_models_files_are_seen(answers, way):
    files, data, query, models = answers[f"{way} "]
    assert files == ["1"]
    assert data.startswith("403: GET https://storage.googleapis.com/")
    assert TENANT in data
    assert "storage.objects.get" in data
    assert query.startswith("403: POST https://bigquery.")
    assert models == f"403: The caller {TENANT} does not have permission"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["endpoint", "batch"])
def test_with_an_account_of_the_groups_all_is_seen(answers, way):
    assert answers[f"{way} jobs@local-gcp.iam.gserviceaccount.com"] == [["1"], "ours", [1], 1]


def test_who_signs_a_token_is_recognized():
    claims = base64.urlsafe_b64encode(json.dumps({"iss": TENANT}).encode()).decode().rstrip("=")
    assert rights.token_prefix(f"head.{claims}.signature") == "local-gcp-tenant."
    for other in ("", "a.b.c", "a.b", f"head.{claims[:-2]}.signature", "head.W10.signature"):
        assert rights.token_prefix(other) == "local-gcp."

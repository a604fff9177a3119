import pytest
import yaml

from tests.airflow_side import ROOT
from tests.trellis.workflow.conftest import breast_cancer, digits, group
from trellis.workflow.spec import platform

__all__ = ["breast_cancer", "digits", "group"]


@pytest.fixture
def bucket(google, request):
    """A bucket of the test's own: its name."""
    name = f"results-{request.node.name.replace('_', '-')}"[:60].rstrip("-")
    (google.buckets / name).mkdir()
    return name


@pytest.fixture
def client(google):
    from google.cloud.storage import Client

    return Client(project="local-gcp")


@pytest.fixture
def add(client, bucket):
    """Adds a record to the index."""

    def add(record, kind="runs", name=None, metadata=True):
        name = name or getattr(record, "folder", None) or record.run_id
        blob = client.bucket(bucket).blob(f"_index/{record.experiment}/{kind}/{name}.json")
        blob.metadata = record.metadata if metadata else None
        blob.upload_from_string(record.text)

    return add


@pytest.fixture
def dags(tmp_path, bucket):
    """A folder with a platform.yaml that names the bucket."""
    committed = platform.load(ROOT / "dags").model_dump(mode="json", exclude_none=True)
    values = {**committed, "bucket": bucket}
    (tmp_path / "platform.yaml").write_text(yaml.safe_dump(values))
    return tmp_path

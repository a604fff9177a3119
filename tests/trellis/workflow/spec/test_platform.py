import pytest

from tests.airflow_side import ROOT
from trellis.workflow.spec import platform
from trellis.workflow.spec.problems import FileError


def test_addresses(group):
    assert group.uri("digits/manifest.csv") == "gs://trellis-local/digits/manifest.csv"
    assert group.uri("gs://other/m.csv") == "gs://other/m.csv"
    assert group.image("trainer", "1.2.3").endswith("/trellis/trainer:1.2.3")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("project:", "projekt:", r"line 5, projekt: unknown key; did you mean 'project'\?"),
        ("bucket: trellis-local", "bucket: gs://x", r"line 7, bucket: got 'gs://x'"),
        ("poll_seconds: 1", "poll_seconds: 0", "poll_seconds: got 0; expected a whole number"),
        ("max_workers: 2, ", "max_worker: 2, ", "did you mean 'max_workers'"),
        ("timeout: 30 minutes", "timeout: long", "as in '30 minutes'"),
        ("location: US", "location: EU", r"'EU'.*us-central1"),
        ("location: US", "location: us-east1", r"'us-east1'.*us-central1"),
        ("labels:", "network: lab\nlabels:", "network: got 'lab'"),
        ("labels:", "subnetwork: lab\nlabels:", "subnetwork: got 'lab'; expected regions/REGION"),
        (
            "labels:",
            "subnetwork: regions/us-east1/subnetworks/lab\nlabels:",
            r"us-east1.*us-central1",
        ),
        (
            "labels:",
            "tensorboard: curves\nlabels:",
            "tensorboard: got 'curves'; expected projects/",
        ),
        (
            "labels:",
            "tensorboard: projects/lab/locations/us-east1/tensorboards/7\nlabels:",
            r"us-east1.*us-central1",
        ),
        (
            "service_account: jobs@local-gcp.iam.gserviceaccount.com",
            "tensorboard: projects/lab/locations/us-central1/tensorboards/7",
            "tensorboard: needs `service_account`",
        ),
        ("labels:", "private_addresses: true\nlabels:", "private_addresses: in which network"),
    ],
)
def test_a_mistake_is_named_with_line_and_field(tmp_path, old, new, message):
    path = tmp_path / "platform.yaml"
    text = (ROOT / "dags/platform.yaml").read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(FileError, match=message):
        platform.read(path)


@pytest.mark.parametrize(
    ("region", "location"),
    [("europe-west4", "EU"), ("europe-west4", "europe-west4"), ("europe-west4", "US")],
)
def test_bigquery_lies_beside_the_bucket(group, region, location):
    values = {**group.model_dump(mode="json"), "region": region, "location": location}
    assert platform.Platform.model_validate(values).location == location


@pytest.mark.parametrize("region", ["europe-west2", "europe-west6", "us-central1"])
def test_what_is_outside_the_multi_region_does_not_fit_it(group, region):
    values = {**group.model_dump(mode="json"), "region": region, "location": "EU"}
    with pytest.raises(ValueError, match="does not fit"):
        platform.Platform.model_validate(values)


def test_automls_minimum_is_googles_unless_the_file_lowers_it():
    fields = platform.Platform.model_fields
    assert fields["automl_minimum_rows"].default == 1000
    assert fields["automl_minimum_images"].default == 100


def test_a_variable_chooses_between_platforms(tmp_path, monkeypatch):
    text = (ROOT / "dags/platform.yaml").read_text()
    (tmp_path / "platform.yaml").write_text(text)
    (tmp_path / "platform-dev.yaml").write_text(text.replace("trellis-local", "trellis-dev"))
    assert platform.load(tmp_path).bucket == "trellis-local"
    monkeypatch.setenv("TRELLIS_PLATFORM", "platform-dev.yaml")
    assert platform.load(tmp_path).bucket == "trellis-dev"


def test_a_platform_that_is_not_there_is_named_with_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("TRELLIS_PLATFORM", "platform-prod.yaml")
    said = r"platform-prod.yaml: 1 problem(.|\n)*cannot be read \(TRELLIS_PLATFORM names it\)"
    with pytest.raises(FileError, match=said):
        platform.load(tmp_path)

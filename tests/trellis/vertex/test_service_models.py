"""Models of Google's services in the registry and at an endpoint: of BigQuery ML, of AutoML."""

import base64
import json
import time

import numpy as np
import pytest
from google.cloud import aiplatform_v1 as api
from google.cloud import bigquery
from PIL import Image

from tests.trellis.vertex.deploying import PARENT, PLACE, deploy, model, register, run
from trellis.verdict import JobFailedForGood
from trellis.vertex.registry import service_of
from trellis.vertex.service_models import ServiceVersionOperator
from trellis.workflow.stages.deploy import smoke_requests
from trellis.workflow.stages.deploy.answers import ALL_CLASSES
from trellis.workflow.stages.prediction import images, lines
from trellis_contracts.challenger import Example

ROWS = "SELECT MOD(n, 10) AS size, IF(MOD(n, 10) > 4, 'large', 'small') AS label"
MODEL = "local-gcp.service_models.sizes"


@pytest.fixture(scope="module")
def learned(serving):
    """(instance, canonical prediction) of two rows by ML.PREDICT."""
    client = bigquery.Client(location="us-central1")
    client.create_dataset("service_models", exists_ok=True)
    client.query_and_wait(
        f"CREATE MODEL `{MODEL}` OPTIONS (model_type = 'logistic_reg', data_split_method = "
        f"'NO_SPLIT', input_label_cols = ['label']) AS {ROWS} FROM UNNEST(GENERATE_ARRAY(1, 60)) n"
    )
    rows = client.query_and_wait(
        f"SELECT * FROM ML.PREDICT(MODEL `{MODEL}`, (SELECT size FROM UNNEST([2, 7]) AS size))"
    )
    return [
        Example(
            str(row["size"]),
            {"size": str(row["size"])},
            {
                "label": row["predicted_label"],
                "probabilities": {p["label"]: p["prob"] for p in row["predicted_label_probs"]},
            },
        )
        for row in rows
    ]


SCHEMA = "gs://google-cloud-aiplatform/schema"
USES = ("training", "validation", "test")
REGION = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}


@pytest.fixture(scope="module")
def shades(google, serving):
    """(AutoML's model of images, examples with what it answers of them in bulk)."""
    folder = google.buckets / "shades"
    folder.mkdir()
    random = np.random.default_rng(1)
    manifest = []
    for n in range(60):
        label = ("dark", "gray", "light")[n % 3]
        pixels = random.integers(0, 80, (8, 8)) + 85 * (n % 3)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{n}.png")
        manifest.append(f"{USES[n // 20]},gs://shades/{n}.png,{label}")
    (folder / "manifest.csv").write_text("\n".join(manifest))
    asked = [f"gs://shades/{n}.png" for n in range(40, 60)]
    sent = (json.dumps(images.of_automl(address)) for address in asked)
    (folder / "instances.jsonl").write_text("\n".join(sent))

    datasets = api.DatasetServiceClient(client_options=REGION)
    kind = f"{SCHEMA}/dataset/metadata/image_1.0.0.yaml"
    empty = {"display_name": "shades", "metadata_schema_uri": kind}
    dataset = datasets.create_dataset(parent=PARENT, dataset=empty).result(timeout=60).name
    form = f"{SCHEMA}/dataset/ioformat/image_classification_single_label_io_format_1.0.0.yaml"
    source = {"uris": ["gs://shades/manifest.csv"]}
    config = {"gcs_source": source, "import_schema_uri": form}
    datasets.import_data(name=dataset, import_configs=[config]).result(timeout=120)
    pipelines = api.PipelineServiceClient(client_options=REGION)
    task = f"{SCHEMA}/trainingjob/definition/automl_image_classification_1.0.0.yaml"
    use = "labels.aiplatform.googleapis.com/ml_use"
    started = pipelines.create_training_pipeline(
        parent=PARENT,
        training_pipeline={
            "display_name": "shades",
            "training_task_definition": task,
            "training_task_inputs": {"modelType": "CLOUD", "budgetMilliNodeHours": 8000},
            "input_data_config": {
                "dataset_id": dataset.rpartition("/")[2],
                "filter_split": {f"{split}_filter": f"{use}={split}" for split in USES},
            },
            "model_to_upload": {"display_name": "shades"},
        },
    )
    ended = until_over(lambda: pipelines.get_training_pipeline(name=started.name))
    jobs = api.JobServiceClient(client_options=REGION)
    place = {"gcs_destination": {"output_uri_prefix": "gs://shades/out"}}
    job = jobs.create_batch_prediction_job(
        parent=PARENT,
        batch_prediction_job={
            "display_name": "shades",
            "model": ended.model_to_upload.name,
            "model_parameters": ALL_CLASSES,
            "input_config": {
                "instances_format": "jsonl",
                "gcs_source": {"uris": ["gs://shades/instances.jsonl"]},
            },
            "output_config": {"predictions_format": "jsonl", **place},
        },
    )
    until_over(lambda: jobs.get_batch_prediction_job(name=job.name))
    told = [line for file in folder.glob("out/*/predictions*") for line in file.open()]
    answers = {address: answer for address, _, answer in map(lines.of_file, told)}
    examples = []
    for address in asked:
        file = (google.buckets / address.removeprefix("gs://")).read_bytes()
        instance = {"content": base64.b64encode(file).decode()}
        examples.append(Example(address, instance, answers[address]))
    return ended.model_to_upload.name, examples


def until_over(get):
    """A pipeline or job, once it has succeeded."""
    for _ in range(600):
        found = get()
        if found.end_time:
            assert found.state.name.endswith("SUCCEEDED"), found.error
            return found
        time.sleep(0.2)
    raise TimeoutError(found)


def adopt(name, run_id="run", service="bqml", source=MODEL):
    """The name of the version that a run registered."""
    fields = {
        "display_name": name,
        "labels": {"trellis-experiment": name, "trellis-run": run_id},
        "version_description": '{"run": "gs://b/r/"}',
    }
    operator = ServiceVersionOperator(
        task_id="register",
        model_id=name,
        model=fields,
        aliases=["challenger"],
        origin={"service": service, "model": source},
        bigquery_location="us-central1",
        **PLACE,
    )
    return run(operator, run_id)["name"]


@pytest.fixture
def copied(serving, name):
    """Name of a model as AutoML's pipeline leaves one: of its own, without our labels."""
    sent = {**model("theirs"), "labels": {}}
    answer = serving.models.upload_model(parent=PARENT, model=sent).result(timeout=30)
    return answer.model


def test_a_bigquery_model_is_a_version_that_answers_as_ml_predict(serving, name, learned, endpoint):
    first = register(name, aliases=["champion"], run_id="before")
    deploy(endpoint, first)
    version = adopt(name)
    assert version == f"{first[:-1]}2"
    assert adopt(name) == version  # an attempt after it was complete
    found = serving.models.get_model(name=version)
    assert service_of(found) == "bqml"
    assert (found.labels["trellis-run"], list(found.version_aliases)) == ("run", ["challenger"])
    assert found.version_description == '{"run": "gs://b/r/"}'
    deployed = deploy(endpoint, version, share=50)
    client = api.PredictionServiceClient(client_options=REGION)
    # The program of the first version answers anything.
    told = smoke_requests.ask(client, endpoint, deployed, 50, learned, 60_000, service="bqml")
    assert (told.examples, told.largest_difference < 1e-9) == (2, True)


def test_a_registration_that_was_interrupted_is_completed(serving, name, learned):
    """BigQuery registered it, and the task died before it gave the version its labels."""
    client = bigquery.Client(location="us-central1")
    own = f"local-gcp.service_models.{name.replace('-', '_')}"
    client.query_and_wait(
        f"CREATE MODEL `{own}` OPTIONS (model_type = 'linear_reg', input_label_cols = ['label']) "
        "AS SELECT 1.0 * n AS x, 2.0 * n AS label FROM UNNEST(GENERATE_ARRAY(1, 9)) n"
    )
    client.query_and_wait(f"ALTER MODEL `{own}` SET OPTIONS (vertex_ai_model_id = '{name}')")
    assert adopt(name, source=own).endswith(f"/models/{name}@1")
    found = serving.models.get_model(name=f"{PARENT}/models/{name}@1")
    assert found.labels["trellis-experiment"] == name


def test_a_copy_is_made_once(serving, name, copied):
    version = adopt(name, service="automl", source=copied)
    assert adopt(name, service="automl", source=copied) == version
    found = serving.models.get_model(name=version)
    assert found.original_model_info.model.startswith(copied.rpartition("/")[0])
    assert found.labels["trellis-experiment"] == name
    # Another run's comparison may choose the same model again: that is another version.
    assert adopt(name, run_id="other", service="automl", source=copied) != version


def test_a_model_that_is_someone_elses_gets_no_version(serving, name, copied):
    theirs = {**model(name), "labels": {}}
    request = {"parent": PARENT, "model_id": name, "model": theirs}
    serving.models.upload_model(request=request).result(timeout=10)
    with pytest.raises(JobFailedForGood, match="trellis-experiment is not set"):
        adopt(name, service="automl", source=copied)


def test_automls_model_of_images_is_served_on_machines_that_google_chooses(
    serving, name, shades, endpoint
):
    """It answers as it did in bulk: with the probabilities of all classes."""
    theirs, examples = shades
    version = adopt(name, service="automl", source=theirs)
    deployed = deploy(endpoint, version)
    (found,) = serving.endpoints.get_endpoint(name=endpoint).deployed_models
    assert found.automatic_resources.min_replica_count == 1
    assert not found.dedicated_resources
    client = api.PredictionServiceClient(client_options=REGION)
    asked = smoke_requests.ask(client, endpoint, deployed, 100, examples, 60_000, service="automl")
    assert asked.examples == len(examples) == 20
    assert {len(example.prediction["probabilities"]) for example in examples} == {3}
    assert asked.largest_difference < 1e-6

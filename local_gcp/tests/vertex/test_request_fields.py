"""Every field of the requests that change something is sent once: it is refused by name, named in
an error, returned, or has the effect that another test shows.
"""

import functools
from unittest import mock

import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api

from local_gcp.vertex import pipelines
from local_gcp.vertex.endpoints import fleet
from local_gcp.vertex.tuning import controller
from local_gcp.wire import snake_case
from tests.proto_fields import named, paths, value_at, with_field
from tests.vertex import cases
from tests.vertex.serving_requests import MACHINE, serving_requests

PARENT = "projects/local-gcp/locations/us-central1"
KEY = f"{PARENT}/keyRings/r/cryptoKeys/k"
VALID = {
    "kms_key_name": KEY,
    "network": "projects/1/global/networks/n",
    "output_uri_prefix": "gs://bucket/other",
    "machine_type": "n1-standard-8",
    "uris": "gs://bucket/other.csv",
    "version_aliases": "best",
    "labels": "key",
    "boot_disk_type": "pd-standard",
    "boot_disk_size_gb": 200,
    "service_account": "a@local-gcp.iam.gserviceaccount.com",
    "min_replica_count": 2,
    "max_replica_count": 2,
    "data": "cGFw",
}
"""Values that fit, by the field's name."""


def expected(kind, path, value):
    """The value as JSON, as `value_at` gives it."""
    return value_at(with_field(kind(), path, value), path)


@pytest.fixture(autouse=True)
def _nothing_runs(monkeypatch):
    """Jobs wait for the first: none of the others runs, and what they would need is not made."""
    monkeypatch.setenv("LOCAL_GCP_CORES", "1")
    monkeypatch.setattr(pipelines.Pipelines, "_stage", lambda *_: None)
    monkeypatch.setattr(controller, "TICK", 60.0)


def made_anew(vertex, request):
    """The metadata store, in place of the one that there is."""
    stores = vertex.service.state.table("metadataStores", api.MetadataStore)
    ((name, store),) = stores.list()
    stores.delete(name)
    try:
        return vertex.metadata.create_metadata_store(request=request).result(timeout=60)
    except exceptions.GoogleAPICallError:
        stores.put(name, store)
        raise


@pytest.fixture
def bases(vertex, home):
    """By the request's class: the method, and a request that is accepted."""
    wait = "import time; time.sleep(600)"
    spec = {"worker_pool_specs": [vertex.pool(wait)]}
    job = {"display_name": "a", "job_spec": spec}
    vertex.jobs.create_custom_job(parent=PARENT, custom_job=job)
    folder = home.buckets / "bucket/model"
    folder.mkdir(parents=True)
    (folder / "weights").write_text("x")
    (home.buckets / "bucket/a.jsonl").write_text("{}")
    container = {"image_uri": "example.com/python:3", "command": ["python"]}
    model = {"display_name": "a", "container_spec": container, "artifact_uri": "gs://bucket/model"}
    uploaded = vertex.models.upload_model(parent=PARENT, model=model).result(timeout=60).model
    endpoint = vertex.endpoints.create_endpoint(parent=PARENT, endpoint={"display_name": "a"})
    endpoint = endpoint.result(timeout=60).name
    cases.write_table(home.buckets / "bucket")
    dataset = cases.create_dataset(vertex)
    study = {
        "metrics": [{"metric_id": "m", "goal": "MAXIMIZE"}],
        "parameters": [
            {"parameter_id": "p", "double_value_spec": {"min_value": 1, "max_value": 2}}
        ],
    }
    tuning = {"display_name": "a", "study_spec": study, "trial_job_spec": spec}
    tuning |= {"max_trial_count": 2, "parallel_trial_count": 1}
    prediction = {
        "display_name": "a",
        "model": uploaded,
        "input_config": {
            "instances_format": "jsonl",
            "gcs_source": {"uris": ["gs://bucket/a.jsonl"]},
        },
        "output_config": {
            "predictions_format": "jsonl",
            "gcs_destination": {"output_uri_prefix": "gs://bucket/out"},
        },
        "dedicated_resources": {"machine_spec": {"machine_type": "n1-standard-2"}},
    }
    importing = {
        "gcs_source": {"uris": ["gs://bucket/manifest.csv"]},
        "import_schema_uri": cases.SINGLE_LABEL,
    }
    cases.write_images(home.buckets / "bucket", 2)
    pictures = cases.create_dataset(vertex, images=True)
    vertex.metadata.create_metadata_store(
        parent=PARENT, metadata_store={}, metadata_store_id="default"
    ).result(timeout=60)
    store = f"{PARENT}/metadataStores/default"
    context = vertex.metadata.create_context(
        parent=store, context={"display_name": "a", "schema_title": "system.Run"}, context_id="c"
    ).name
    child = vertex.metadata.create_context(
        parent=store, context={"schema_title": "system.Run"}, context_id="child"
    ).name
    changed = {"update_mask": {"paths": ["display_name"]}}
    table = {"display_name": "a", "metadata_schema_uri": cases.TABULAR}
    table["metadata"] = {"inputConfig": {"gcsSource": {"uri": ["gs://bucket/cells.csv"]}}}
    return serving_requests(vertex) | {
        "CreateCustomJobRequest": (vertex.jobs.create_custom_job, {"custom_job": job}),
        "CreateHyperparameterTuningJobRequest": (
            vertex.jobs.create_hyperparameter_tuning_job,
            {"hyperparameter_tuning_job": tuning},
        ),
        "CreateBatchPredictionJobRequest": (
            vertex.jobs.create_batch_prediction_job,
            {"batch_prediction_job": prediction},
        ),
        "CreateTrainingPipelineRequest": (
            vertex.pipelines.create_training_pipeline,
            {"training_pipeline": cases.tabular_pipeline(dataset)},
        ),
        "UploadModelRequest": (vertex.models.upload_model, {"model": model}),
        "CopyModelRequest": (vertex.models.copy_model, {"source_model": uploaded}),
        "UpdateModelRequest": (
            vertex.models.update_model,
            {"model": {"name": uploaded, "display_name": "a"}, **changed},
        ),
        "CreateEndpointRequest": (
            vertex.endpoints.create_endpoint,
            {"endpoint": {"display_name": "a"}},
        ),
        "UpdateEndpointRequest": (
            vertex.endpoints.update_endpoint,
            {"endpoint": {"name": endpoint, "display_name": "a"}, **changed},
        ),
        "DeployModelRequest": (
            functools.partial(deployed, vertex, endpoint),
            {
                "endpoint": endpoint,
                "deployed_model": {"model": uploaded, "dedicated_resources": MACHINE},
            },
        ),
        "MergeVersionAliasesRequest": (
            vertex.models.merge_version_aliases,
            {"name": uploaded, "version_aliases": ["good"]},
        ),
        "UpdateContextRequest": (
            vertex.metadata.update_context,
            {"context": {"name": context, "display_name": "b"}, **changed},
        ),
        "CreateDatasetRequest": (vertex.datasets.create_dataset, {"dataset": table}),
        "ImportDataRequest": (
            vertex.datasets.import_data,
            {"name": pictures, "import_configs": [importing]},
        ),
        "CreateContextRequest": (
            vertex.metadata.create_context,
            {"parent": store, "context": {"display_name": "a", "schema_title": "system.Run"}},
        ),
        "CreateMetadataStoreRequest": (
            functools.partial(made_anew, vertex),
            {"metadata_store": {}, "metadata_store_id": "default"},
        ),
        "AddContextChildrenRequest": (
            vertex.metadata.add_context_children,
            {"context": context, "child_contexts": [child]},
        ),
        "GetDatasetRequest": (vertex.datasets.get_dataset, {"name": dataset}),
        "ListCustomJobsRequest": (vertex.jobs.list_custom_jobs, {}),
        "ListHyperparameterTuningJobsRequest": (vertex.jobs.list_hyperparameter_tuning_jobs, {}),
        "ListBatchPredictionJobsRequest": (vertex.jobs.list_batch_prediction_jobs, {}),
        "ListTrainingPipelinesRequest": (vertex.pipelines.list_training_pipelines, {}),
        "ListModelsRequest": (vertex.models.list_models, {}),
        "ListModelVersionsRequest": (vertex.models.list_model_versions, {"name": uploaded}),
        "ListModelEvaluationsRequest": (
            vertex.models.list_model_evaluations,
            {"parent": uploaded},
        ),
        "ListEndpointsRequest": (vertex.endpoints.list_endpoints, {}),
        "ListDatasetsRequest": (vertex.datasets.list_datasets, {}),
        "ListContextsRequest": (vertex.metadata.list_contexts, {"parent": store}),
        "ListExecutionsRequest": (vertex.metadata.list_executions, {"parent": store}),
    }


def deployed(vertex, endpoint, request):
    """The model as the endpoint shows it once it is deployed; no server is started for it.

    Each is deployed to an endpoint of its own in place of `endpoint`.
    """
    if request.endpoint == endpoint:
        made = vertex.endpoints.create_endpoint(parent=PARENT, endpoint={"display_name": "a"})
        request.endpoint = made.result(timeout=60).name
    with mock.patch.object(fleet.Fleet, "watch"):
        operation = vertex.endpoints.deploy_model(request=request).operation
    requests = vertex.service.state.table("deployModelRequests", api.DeployModelRequest)
    return requests.get(operation.name).deployed_model


def holds(sent, shown):
    """Return whether an answer has what was sent; labels and aliases come with others."""
    if isinstance(sent, dict) and isinstance(shown, dict):
        return sent.items() <= shown.items()
    if isinstance(sent, list) and isinstance(shown, list):
        return all(item in shown for item in sent)
    return sent == shown


def ignored(method, kind, base):
    """Names of the fields that are neither refused, named, nor returned."""
    descriptor = kind.pb().DESCRIPTOR
    given = {"parent": PARENT, **base} if "parent" in descriptor.fields_by_name else base
    sent = kind.pb(kind(given))
    for number, (path, value) in enumerate(paths(api, descriptor, VALID)):
        if path in {("parent",), ("name",)} or value_at(sent, path) == value:
            continue
        request = with_field(sent, path, value)
        if "context_id" in descriptor.fields_by_name and path[0] != "context_id":
            request.context_id = f"c{number}"
        for mask in masks(descriptor, path):
            if mask:
                request.update_mask.paths[:] = [mask]
            try:
                shown = shown_at(path, method, kind(request))
            except exceptions.GoogleAPICallError as error:
                if not named(error.message, path, value, base):
                    yield f"{'.'.join(path)}: {error.message}"
            else:
                if not holds(expected(kind.pb(), path, value), shown):
                    yield ".".join(path)


def shown_at(path, method, request):
    """The field's value in the answer; None if it has none."""
    answer = method(request=request)
    if hasattr(answer, "operation"):
        answer = answer.result(timeout=60)
        if path[0] == "model":
            answer = method.__self__.get_model(name=answer.model)
        elif path[0] == "endpoint":
            answer = method.__self__.get_endpoint(name=answer.name)
    if hasattr(answer, "_response"):  # of a list
        return None
    pb = answer if hasattr(answer, "DESCRIPTOR") else type(answer).pb(answer)
    return value_at(pb, path if isinstance(answer, type(request)) else path[1:] or path)


def masks(descriptor, path):
    """The masks that name the field or what holds it; None of a request without a mask."""
    if "update_mask" not in descriptor.fields_by_name or not path[1:]:
        return [None]
    return [".".join(path[1 : end + 1]) for end in range(1, len(path))]


EFFECTS = {
    "CreateEndpointRequest": {
        "endpoint.etag": "there is none to compare it with",
        "endpoint_id": "the name: endpoints/test_endpoint_service.py",
    },
    "CreateDatasetRequest": {"dataset.etag": "there is none to compare it with"},
    "CreateContextRequest": {
        "context.name": "the server makes it",
        "context.etag": "there is none to compare it with",
        "context_id": "the name: test_contexts.py",
    },
    "ImportDataRequest": {
        "import_configs.data_item_labels": "of each item: datasets/test_dataset_service.py",
    },
    "ExplainRequest": {
        f"explanation_spec_override.{field}": "endpoints/test_explain.py"
        for field in (
            "metadata.inputs.input_baselines",
            "parameters.sampled_shapley_attribution.path_count",
            "parameters.top_k",
            "parameters.output_indices",
        )
    },
    "GetDatasetRequest": {"read_mask": "datasets/test_dataset_service.py"},
    "ListExecutionsRequest": {"filter": "there are none"},
    "UploadModelRequest": {
        "model.name": "the server makes it",
        "model_id": "the name: test_models.py",
    },
}
LISTS = {
    "page_size": "the number of items: test_listing.py",
    "read_mask": "the fields of items: test_listing.py",
}


def test_each_request_is_tried(vertex, bases):
    names = set()
    for handler in vertex.service.grpc_handlers:
        for path, (request, _) in handler.table.items():
            method = snake_case(path.rpartition("/")[2])
            emulated = any(hasattr(part, method) for part in handler.implementations)
            if emulated and ".aiplatform." in path:
                fields = {field.name for field in request.pb().DESCRIPTOR.fields}
                if fields - {"name", "parent"}:
                    names.add(request.__name__)
    assert names == bases.keys()


def test_no_field_is_taken_and_ignored(bases):
    found = {
        name: set(ignored(method, getattr(api, name), base))
        for name, (method, base) in bases.items()
    }
    expected = {
        name: {*EFFECTS.get(name, ()), *(LISTS.keys() & left if name.startswith("List") else ())}
        for name, left in found.items()
    }
    assert found == expected

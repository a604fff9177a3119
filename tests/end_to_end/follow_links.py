"""Resources that pages of Google's console show, from local_gcp, which has no console."""

import re
from urllib.parse import parse_qs, urlsplit

from google.api_core import exceptions
from google.cloud import aiplatform_v1 as vertex
from google.cloud import bigquery, dataflow_v1beta3

TRAININGS = (
    (vertex.JobServiceClient, "custom_job", "customJobs"),
    (vertex.JobServiceClient, "hyperparameter_tuning_job", "hyperparameterTuningJobs"),
    (vertex.PipelineServiceClient, "training_pipeline", "trainingPipelines"),
)
BATCHES = ((vertex.JobServiceClient, "batch_prediction_job", "batchPredictionJobs"),)
DATASETS = ((vertex.DatasetServiceClient, "dataset", "datasets"),)
ENDPOINTS = ((vertex.EndpointServiceClient, "endpoint", "endpoints"),)
MODELS = ((vertex.ModelServiceClient, "model", "models"),)
OLD, NEW = "/vertex-ai", "/agent-platform"
PAGES = (
    # Until 2026, and since then.
    (rf"{OLD}/locations/([^/]+)/training/([^/]+)/cpu", TRAININGS),
    (rf"{NEW}/locations/([^/]+)/training/([^/]+)", TRAININGS),
    (rf"(?:{OLD}|{NEW})/locations/([^/]+)/batch-predictions/([^/]+)", BATCHES),
    (rf"{OLD}/locations/([^/]+)/datasets/([^/]+)/analyze", DATASETS),
    (rf"{OLD}/locations/([^/]+)/endpoints/([^/]+)", ENDPOINTS),
    (rf"{OLD}/models/locations/([^/]+)/models/([^/]+)/versions/default/properties", MODELS),
)
LISTS = (f"{NEW}/models", f"{NEW}/online-prediction/endpoints")


def shown(url):
    """The labels of the resource that a page shows; None for a page of a whole list.

    Fails if the page is unknown, or its resource does not exist. For processes whose environment
    leads to local_gcp: Google's clients read it when they are imported.
    """
    page = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(page.query).items()}
    assert page.hostname == "console.cloud.google.com", url
    if page.path == "/bigquery":
        return dict(_of_bigquery(url, query).labels)
    if found := re.fullmatch("/dataflow/jobs/([^/]+)/([^/]+)", page.path):
        named = {"project_id": query["project"], "location": found[1], "job_id": found[2]}
        return dict(dataflow_v1beta3.JobsV1Beta3Client().get_job(request=named).labels)
    if page.path in LISTS:
        return None
    for pattern, kinds in PAGES:
        if found := re.fullmatch(pattern, page.path):
            return _of_vertex(query["project"], found[1], found[2], kinds)
    raise ValueError(f"{url} is no known page")


def _of_bigquery(url, query):
    """The job or the table that a page of BigQuery shows."""
    client = bigquery.Client(project=query["project"])
    if query.get("page") == "table":
        return client.get_table(f"{query['p']}.{query['d']}.{query['t']}")
    job = re.fullmatch("bq:([^:]+):(.+)", query.get("j", ""))
    if job:
        return client.get_job(job[2], location=job[1])
    job = re.fullmatch("!1m5!1m4!1m3!1s(.+)!2s(.+)!3s(.+)", query["ws"])
    return client.get_job(job[2], project=job[1], location=job[3])


def _of_vertex(project, region, identifier, kinds):
    """The labels of the resource of one of the kinds."""
    options = {"api_endpoint": f"{region}-aiplatform.googleapis.com"}
    for service, kind, collection in kinds:
        name = f"projects/{project}/locations/{region}/{collection}/{identifier}"
        try:
            found = getattr(service(client_options=options), f"get_{kind}")(name=name)
        except exceptions.NotFound:
            continue
        return dict(found.labels)
    raise LookupError(f"{region} has no {identifier}")

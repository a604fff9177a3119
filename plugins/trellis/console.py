"""Addresses of the Google Cloud console's pages: every link that Trellis prints is formed here.

In 2026 the console's pages of Vertex AI moved from `vertex-ai/` to `agent-platform/`. An address is
that of Google's own clients or documentation as of November 2026:

- jobs: `_dashboard_uri` of google-cloud-aiplatform 2.7 (jobs.py, training_jobs.py);
- models and endpoints: lists only, https://docs.cloud.google.com/gemini-enterprise-agent-platform
  links `agent-platform/models` and `agent-platform/online-prediction/endpoints`. No documentation
  has the new address of a single version or endpoint, nor any of a dataset: those have no link;
- Dataflow jobs: apache_beam's runner of Dataflow, which prints it;
- BigQuery jobs: google-cloud-bigquery's magics, and the Google provider's links;
- buckets, quotas: https://docs.cloud.google.com/storage/docs/cloud-console,
  https://docs.cloud.google.com/docs/quotas/view-manage.
"""

from urllib.parse import quote, urlencode

_ROOT = "https://console.cloud.google.com"
_PAGES = {
    "customJobs": "locations/{region}/training/{id}",
    "hyperparameterTuningJobs": "locations/{region}/training/{id}",
    "trainingPipelines": "locations/{region}/training/{id}",
    "batchPredictionJobs": "locations/{region}/batch-predictions/{id}",
    "models": "models",
    "endpoints": "online-prediction/endpoints",
}


def vertex(name: str) -> str:
    """Page of a job, or the list with a model or an endpoint, of Vertex AI's resource `name`.

    name: projects/P/locations/REGION/COLLECTION/ID, of a version with @VERSION.
    """
    _, project, _, region, collection, identifier = name.split("/")
    page = _PAGES[collection].format(region=quote(region), id=quote(identifier))
    return _page(f"agent-platform/{page}", project=project)


def dataflow(project: str, region: str, job: str) -> str:
    """Page of a Dataflow job."""
    return _page(f"dataflow/jobs/{quote(region)}/{quote(job)}", project=project)


def bigquery(project: str, location: str, job: str) -> str:
    """Page of a BigQuery job and its results."""
    return _page("bigquery", project=project, j=f"bq:{location}:{job}", page="queryresults")


def bucket(uri: str) -> str:
    """Page of a bucket or a folder, by its gs:// address."""
    return _page("storage/browser/" + quote(uri.removeprefix("gs://").rstrip("/")))


def quotas(project: str) -> str:
    """Page of a project's quotas, where more can be requested."""
    return _page("iam-admin/quotas", project=project)


def _page(path: str, **query: str) -> str:
    return f"{_ROOT}/{path}" + (f"?{urlencode(query, safe=':')}" if query else "")

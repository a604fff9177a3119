"""The query parameters of JSON methods that are emulated; the others are refused by name.

As `emulated_fields` for what stands in an address: a parameter has its effect, has none here (such
as `userProject`, since nothing is billed), or may have its default only.
local_gcp/tests/test_query_parameters.py of Trellis's checkout sends all that Google's discovery
documents name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from local_gcp.emulated_fields import Message
from local_gcp.rest import not_emulated

_ANY = (
    "$.xgafv $alt access_token alt fields key oauth_token prettyPrint quotaUser uploadType"
    " upload_protocol userIp"
)
"""Of every method: they form the response, or name the caller. `fields` may leave out what a client
does not need; here, a client gets the whole resource."""
_PAGES = "maxResults pageToken"
_IF = (
    "ifGenerationMatch ifGenerationNotMatch ifMetagenerationMatch ifMetagenerationNotMatch"
    " userProject"
)
_IF_SOURCE = (
    "ifSourceGenerationMatch ifSourceGenerationNotMatch ifSourceMetagenerationMatch"
    " ifSourceMetagenerationNotMatch"
)
_IF_BUCKET = "ifMetagenerationMatch ifMetagenerationNotMatch userProject"
_NO_ACL = {"projection": "noAcl"}
_POLICY = {"accessPolicyVersion": ("1", "2", "3")}
_FORMATS = "formatOptions.useInt64Timestamp formatOptions.timestampOutputFormat"

# With projection=full Google's answer has access control lists, which are not emulated. A change
# must be allowed to ask for it: Google's client always does.
METHODS: Mapping[str, Message] = {
    "bigquery.datasets.delete": Message("deleteContents"),
    "bigquery.datasets.get": Message(
        "accessPolicyVersion", only=_POLICY, defaults={"datasetView": "FULL"}
    ),
    "bigquery.datasets.insert": Message("accessPolicyVersion", only=_POLICY),
    "bigquery.datasets.list": Message(f"filter {_PAGES}"),
    "bigquery.datasets.patch": Message(
        "accessPolicyVersion", only=_POLICY, defaults={"updateMode": "UPDATE_FULL"}
    ),
    "bigquery.datasets.update": Message(
        "accessPolicyVersion", only=_POLICY, defaults={"updateMode": "UPDATE_FULL"}
    ),
    # Google's client sends a projection, which the documents do not have.
    "bigquery.jobs.cancel": Message("location", "projection"),
    "bigquery.jobs.delete": Message("location"),
    "bigquery.jobs.get": Message("location", "projection"),
    "bigquery.jobs.getQueryResults": Message(f"{_FORMATS} {_PAGES} location startIndex timeoutMs"),
    "bigquery.jobs.insert": Message("upload_id"),
    "bigquery.jobs.list": Message(
        f"maxCreationTime minCreationTime parentJobId projection stateFilter {_PAGES}",
        "allUsers",  # there is one
    ),
    "bigquery.models.list": Message(_PAGES),
    "bigquery.projects.list": Message("", _PAGES),  # there is one
    "bigquery.tabledata.list": Message(f"{_FORMATS} {_PAGES} selectedFields startIndex"),
    "bigquery.tables.get": Message("view", only={"view": ("STORAGE_STATS", "FULL")}),
    "bigquery.tables.list": Message(_PAGES),
    # Of several APIs, by their own names: Service Usage, Composer, Cloud Billing, IAM.
    "cloudbilling.services.list": Message("", "pageSize pageToken"),  # one page
    # One page; quotas here have what both views show.
    "consumerQuotaMetrics.list": Message("", "pageSize pageToken view"),
    "accessPolicies.list": Message("parent", "pageSize pageToken"),  # one page
    "environments.list": Message("", "pageSize pageToken"),  # one page
    "servicePerimeters.list": Message("", "pageSize pageToken"),  # one page
    "imageVersions.list": Message("includePastReleases", "pageSize pageToken"),  # one page
    "getIamPolicy": Message("", "options.requestedPolicyVersion"),  # of policies as they are kept
    "services.batchGet": Message("names"),
    "skus.list": Message("pageSize pageToken", defaults={"currencyCode": "USD"}),
    "storage.buckets.delete": Message(_IF_BUCKET),
    "storage.buckets.get": Message(_IF_BUCKET, defaults=_NO_ACL),
    "storage.buckets.getStorageLayout": Message("", "prefix"),  # what a caller may see: all
    # What gcsfs asks for gives the owner all rights, and all here are the owner.
    "storage.buckets.insert": Message(
        "project",
        "predefinedAcl predefinedDefaultObjectAcl userProject",
        only={
            "predefinedAcl": ("projectPrivate",),
            "predefinedDefaultObjectAcl": ("bucketOwnerFullControl", "projectPrivate"),
        },
        defaults=_NO_ACL,
    ),
    "storage.buckets.list": Message(
        f"prefix project {_PAGES}", "returnPartialSuccess userProject", defaults=_NO_ACL
    ),
    "storage.buckets.patch": Message(_IF_BUCKET, "projection"),
    "storage.buckets.testIamPermissions": Message("permissions", "userProject"),
    "storage.buckets.update": Message(_IF_BUCKET, "projection"),
    "storage.objects.compose": Message(
        "ifGenerationMatch ifMetagenerationMatch kmsKeyName", "userProject"
    ),
    "storage.objects.copy": Message(
        f"{_IF} {_IF_SOURCE} destinationKmsKeyName sourceGeneration", defaults=_NO_ACL
    ),
    "storage.objects.delete": Message(f"{_IF} generation"),
    "storage.objects.get": Message(f"{_IF} generation", defaults=_NO_ACL),
    "storage.objects.insert": Message(
        f"{_IF} contentEncoding kmsKeyName name upload_id", defaults=_NO_ACL
    ),
    "storage.objects.list": Message(
        "delimiter endOffset includeTrailingDelimiter matchGlob prefix startOffset versions"
        f" {_PAGES}",
        "userProject",
        defaults=_NO_ACL,
    ),
    "storage.objects.move": Message(f"{_IF} {_IF_SOURCE}", defaults=_NO_ACL),
    # Objects have no retention to override.
    "storage.objects.patch": Message(f"{_IF} generation", "overrideUnlockedRetention projection"),
    "storage.objects.rewrite": Message(
        f"{_IF} {_IF_SOURCE} destinationKmsKeyName sourceGeneration",
        "maxBytesRewrittenPerCall",  # all, which Cloud Storage may do
        defaults=_NO_ACL,
    ),
    "storage.objects.update": Message(f"{_IF} generation", "overrideUnlockedRetention projection"),
}
_NONE = Message("")

Endpoint = Callable[[Request], Awaitable[Response]]


def taking(method: str, endpoint: Endpoint) -> Endpoint:
    """Return `endpoint` behind the check of its query: `method` is Google's id of it, such as
    "storage.objects.list".
    """

    async def handle(request: Request) -> Response:
        check(method, request.query_params)
        return await endpoint(request)

    return handle


def check(method: str, query: QueryParams) -> None:
    """Raise ApiError 501, with its name, for a parameter that would be ignored."""
    known = METHODS.get(method, _NONE)
    for name, value in query.multi_items():
        if not known.takes(name, "" if value.lower() == "false" else value):
            refuse_parameter(name, method)


def refuse_parameter(name: str, method: str) -> None:
    """Raise ApiError 501 for a parameter that a method ignores, unless every method has it."""
    if name not in _ANY.split():
        raise not_emulated(f"the parameter {name} of {method}")

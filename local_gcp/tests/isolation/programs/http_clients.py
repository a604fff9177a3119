"""Each HTTP library twice: BigQuery answers, and a host that is not Google's is refused.

Arguments: the libraries to try, by the names of the functions below. A refusal is the proxy's 403,
or the error of httplib2 without PySocks; a name that cannot be resolved would mean that the library
went past the proxy.
"""

import asyncio
import sys
import urllib.error
import urllib.request

GOOGLE = "https://bigquery.googleapis.com/bigquery/v2/projects"
ELSEWHERE = ("https://example.com/", "http://example.com/")


def _urllib(url):
    try:
        return urllib.request.urlopen(url).status
    except urllib.error.HTTPError as error:
        return error.code


def _requests(url):
    import requests

    return requests.get(url).status_code


def _httpx(url):
    import httpx

    return httpx.get(url).status_code


def _httpx2(url):
    import httpx2

    return httpx2.get(url).status_code


def _httplib2(url):
    import httplib2

    return httplib2.Http().request(url)[0].status


def _aiohttp(url):
    import aiohttp

    async def ask():
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status

    return asyncio.run(ask())


def _grpc(url):
    import grpc
    from google.cloud import aiplatform_v1

    if url != GOOGLE:
        host = url.split("/")[2]
        channel = grpc.secure_channel(f"{host}:443", grpc.ssl_channel_credentials())
        try:
            channel.unary_unary("/a.B/C")(b"", timeout=20)
        except grpc.RpcError as error:
            return 403 if "403" in error.details() else error.details()
    options = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
    service = aiplatform_v1.ModelServiceClient(client_options=options)
    list(service.list_models(parent="projects/local-gcp/locations/us-central1"))
    return 200


for name in sys.argv[1:]:
    ask = globals()[f"_{name}"]
    try:
        assert ask(GOOGLE) == 200, name
        print(name, "works")
    except Exception as error:
        if "PySocks" not in str(error):
            raise
        print(name, "is refused")
        continue
    for url in ELSEWHERE:
        try:
            answer = str(ask(url))
        except Exception as error:
            answer = f"{error!r} {error}"
        assert "403" in answer, f"{name} {url}: {answer}"

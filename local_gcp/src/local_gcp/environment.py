"""The environment variables that direct unchanged Google Cloud clients to a local_gcp.

Which client reads which was found by experiment: Google's libraries use requests, httplib2,
aiohttp, httpx or gRPC; TensorFlow and other C++ programs use libcurl.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from local_gcp.certificates import TENANT_KEY, Pki
from local_gcp.home import Endpoints, Home
from local_gcp.project import project_id

HOOK = Path(__file__).with_name("client_hook")
"""On PYTHONPATH of clients: see its sitecustomize.py."""


def client_environment(home: Home, endpoints: Endpoints) -> dict[str, str]:
    """Variables for a client of the local_gcp in `home`; all values are absolute."""
    pki = Pki(home.pki)
    authority = str(pki.ca)
    connection = {"conn_type": "google_cloud_platform", "extra": {"project": project_id()}}
    return {
        # gRPC reads the lower-case spelling only.
        "https_proxy": endpoints.proxy_url,
        "HTTPS_PROXY": endpoints.proxy_url,
        # Plain HTTP requests to other hosts are refused as well.
        "http_proxy": endpoints.proxy_url,
        "HTTP_PROXY": endpoints.proxy_url,
        "no_proxy": "localhost,127.0.0.1",
        "NO_PROXY": "localhost,127.0.0.1",
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": authority,
        "REQUESTS_CA_BUNDLE": authority,
        "SSL_CERT_FILE": authority,
        "HTTPLIB2_CA_CERTS": authority,
        "CURL_CA_BUNDLE": authority,
        "GOOGLE_APPLICATION_CREDENTIALS": str(pki.service_account),
        "GOOGLE_CLOUD_PROJECT": project_id(),
        "NO_GCE_CHECK": "true",
        "GOOGLE_API_USE_CLIENT_CERTIFICATE": "false",
        # Without it, aiohttp ignores the proxy.
        "PYTHONPATH": str(HOOK),
        # Plain HTTP, without a tunnel: faster.
        "STORAGE_EMULATOR_HOST": endpoints.http_url,
        # Without it, gcsfs queries each bucket's type over TLS at the plain port, for 60 s each.
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
        "AIRFLOW_CONN_GOOGLE_CLOUD_DEFAULT": json.dumps(connection),
        "GCS_ROOT": str(home.buckets),
        "LOCAL_GCP_URL": endpoints.http_url,
        "LOCAL_GCP_HOME": str(home.root),
    }


def without_rights(variables: Mapping[str, str]) -> dict[str, str]:
    """Environment of a client without permissions in the project: see rights.py."""
    # With the emulator's variable, clients of Cloud Storage would send no credentials.
    result = {name: text for name, text in variables.items() if name != "STORAGE_EMULATOR_HOST"}
    if key := result.get("GOOGLE_APPLICATION_CREDENTIALS"):
        result["GOOGLE_APPLICATION_CREDENTIALS"] = str(Path(key).with_name(TENANT_KEY))
    return result

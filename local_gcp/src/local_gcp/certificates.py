"""Creates a certificate authority, a server certificate for Google's hosts, and a key file.

The authority's private key is never stored: it signs one server certificate, which is valid for
Google's hosts and TOKEN_HOST only, and is discarded. So a client that trusts ca.pem trusts only the
local_gcp of this folder.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

DOMAIN = "googleapis.com"
TOKEN_HOST = "oauth2.local-gcp.invalid"
"""Where the key file has clients fetch their tokens. No name server knows a name in `invalid` (RFC
6761): a client that ignores the proxy gets no token, so that it never calls Google's hosts.
"""

_REP_LOCATIONS = """
    us eu
    africa-south1 asia-east1 asia-east2 asia-northeast1 asia-northeast2 asia-northeast3 asia-south1
    asia-south2 asia-southeast1 asia-southeast2 australia-southeast1 australia-southeast2
    europe-central2 europe-north1 europe-southwest1 europe-west1 europe-west2 europe-west3
    europe-west4 europe-west6 europe-west8 europe-west9 europe-west10 europe-west12 me-central1
    me-central2 me-west1 northamerica-northeast1 northamerica-northeast2 southamerica-east1
    southamerica-west1 us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west2 us-west3
    us-west4
"""
"""Regional endpoints are SERVICE.LOCATION.rep.googleapis.com; a wildcard covers one label only."""

TENANT = "custom-online-prediction@local-gcp-tp.iam.gserviceaccount.com"
"""The account of Google's that model containers run as that have none of the customer's."""
TENANT_KEY = "tenant.json"


class Pki:
    """The files of HOME/pki."""

    def __init__(self, folder: Path):
        self.ca = folder / "ca.pem"
        self.server = folder / "server.pem"
        """Server certificate, its chain and its private key."""
        self.service_account = folder / "sa.json"
        self.tenant = folder / TENANT_KEY

    def ensure(self, project: str) -> None:
        """Create what is missing or about to expire; clients may have loaded the rest."""
        from local_gcp import signing  # with cryptography, which other commands need not

        hosts, there = _hosts(), self.server.exists() and self.ca.exists()
        if not there or signing.is_outdated(self.server.read_bytes(), hosts):
            authority, server = signing.certificates(hosts, (DOMAIN, TOKEN_HOST))
            _write_private(self.server, server)
            _write_private(self.ca, authority)
        owner = f"local-gcp@{project}.iam.gserviceaccount.com"
        for path, account in ((self.service_account, owner), (self.tenant, TENANT)):
            if not _is_key(path):
                _write_private(path, _service_account(project, account, signing.private_key()))


_TOKEN_URI = f"https://{TOKEN_HOST}/token"


def _is_key(path: Path) -> bool:
    """Return whether there is a key file, and not one of an earlier version."""
    return path.exists() and json.loads(path.read_text())["token_uri"] == _TOKEN_URI


def _hosts() -> list[str]:
    """Return the hosts that the server's certificate is valid for; a wildcard covers one label
    only.

    BUCKET.storage.googleapis.com is the XML API's address of a bucket, which is refused by name.
    """
    names = [TOKEN_HOST, DOMAIN, f"*.{DOMAIN}", f"*.storage.{DOMAIN}", f"*.rep.{DOMAIN}"]
    return [*names, *(f"*.{location}.rep.{DOMAIN}" for location in _REP_LOCATIONS.split())]


def _service_account(project: str, email: str, key: str) -> bytes:
    """A key file as Google issues it; the token endpoint that it names is answered locally."""
    content = {
        "type": "service_account",
        "project_id": project,
        "private_key_id": "local-gcp",
        "private_key": key,
        "client_email": email,
        "client_id": "100000000000000000001",
        "token_uri": _TOKEN_URI,
        "universe_domain": DOMAIN,
    }
    return json.dumps(content).encode()


def _write_private(path: Path, content: bytes) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    temporary.replace(path)

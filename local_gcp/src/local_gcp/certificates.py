"""Creates a certificate authority, a server certificate for Google's hosts, and a key file.

The authority's private key is never stored: it signs one server certificate, which is valid for
Google's hosts and TOKEN_HOST only, and is discarded. So a client that trusts ca.pem trusts only the
local_gcp of this folder.
"""

from __future__ import annotations

import datetime as dt
import inspect
import json
import os
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

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

VALID = dt.timedelta(days=3 * 365)
RENEW_BEFORE = dt.timedelta(days=30)


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
        if not (self.server.exists() and self.ca.exists()) or _is_outdated(self.server):
            authority, server = _certificates()
            _write_private(self.server, server)
            _write_private(self.ca, authority)
        if not _is_key(self.service_account):
            owner = f"local-gcp@{project}.iam.gserviceaccount.com"
            _write_private(self.service_account, _service_account(project, owner))
        if not _is_key(self.tenant):
            _write_private(self.tenant, _service_account(project, TENANT))


_TOKEN_URI = f"https://{TOKEN_HOST}/token"


def _is_key(path: Path) -> bool:
    """Return whether there is a key file, and not one of an earlier version."""
    return path.exists() and json.loads(path.read_text())["token_uri"] == _TOKEN_URI


def _is_outdated(path: Path) -> bool:
    """Return whether a certificate expires soon, or is for fewer hosts."""
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    if certificate.not_valid_after_utc - dt.datetime.now(dt.UTC) < RENEW_BEFORE:
        return True
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return not set(_hosts()) <= set(names.get_values_for_type(x509.DNSName))


def _hosts() -> list[str]:
    """Return the hosts that the server's certificate is valid for; a wildcard covers one label
    only.

    BUCKET.storage.googleapis.com is the XML API's address of a bucket, which is refused by name.
    """
    names = [TOKEN_HOST, DOMAIN, f"*.{DOMAIN}", f"*.storage.{DOMAIN}", f"*.rep.{DOMAIN}"]
    return [*names, *(f"*.{location}.rep.{DOMAIN}" for location in _REP_LOCATIONS.split())]


def _certificates() -> tuple[bytes, bytes]:
    """(authority's certificate, server certificate + chain + server key), PEM."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    server_key = ec.generate_private_key(ec.SECP256R1())
    authority_name, server_name = _name("local_gcp authority"), _name("local_gcp")

    authority = (
        _builder(authority_name, authority_name, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(
            x509.NameConstraints([*map(x509.DNSName, (DOMAIN, TOKEN_HOST))], None), critical=True
        )
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )
    server = (
        _builder(server_name, authority_name, server_key)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name) for name in _hosts()]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
        .sign(authority_key, hashes.SHA256())
    )
    chain = [c.public_bytes(Encoding.PEM) for c in (server, authority)]
    return chain[1], b"".join(chain) + _pem(server_key)


def _service_account(project: str, email: str) -> bytes:
    """A key file as Google issues it; the token endpoint that it names is answered locally.

    Its key has half of Google's bits: it opens nothing, and clients check its primes whenever they
    read the file, for each connection of an Airflow task (5 ms in place of 33).
    """
    content = {
        "type": "service_account",
        "project_id": project,
        "private_key_id": "local-gcp",
        "private_key": _pem(rsa.generate_private_key(65537, 1024)).decode(),
        "client_email": email,
        "client_id": "100000000000000000001",
        "token_uri": _TOKEN_URI,
        "universe_domain": DOMAIN,
    }
    return json.dumps(content).encode()


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + VALID)
    )


def _key_usage(**usages: bool) -> x509.KeyUsage:
    nothing = dict.fromkeys(inspect.signature(x509.KeyUsage).parameters, False)
    return x509.KeyUsage(**{**nothing, **usages})


def _pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write_private(path: Path, content: bytes) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    temporary.replace(path)

"""Signs what `certificates` keeps. Only a server imports this module, and cryptography with it,
which would be a quarter of the time of any other command.
"""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Iterable, Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID = dt.timedelta(days=3 * 365)
RENEW_BEFORE = dt.timedelta(days=30)


def is_outdated(pem: bytes, hosts: Iterable[str]) -> bool:
    """Return whether a certificate expires soon, or is for fewer hosts."""
    certificate = x509.load_pem_x509_certificate(pem)
    if certificate.not_valid_after_utc - dt.datetime.now(dt.UTC) < RENEW_BEFORE:
        return True
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return not set(hosts) <= set(names.get_values_for_type(x509.DNSName))


def certificates(hosts: Iterable[str], permitted: Sequence[str]) -> tuple[bytes, bytes]:
    """(authority's certificate, server certificate + chain + server key), PEM.

    `hosts`: those of the server's certificate. `permitted`: domains that the authority may sign.
    """
    authority_key = ec.generate_private_key(ec.SECP256R1())
    server_key = ec.generate_private_key(ec.SECP256R1())
    authority_name, server_name = _name("local_gcp authority"), _name("local_gcp")

    authority = (
        _builder(authority_name, authority_name, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(x509.NameConstraints([*map(x509.DNSName, permitted)], None), critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )
    server = (
        _builder(server_name, authority_name, server_key)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name) for name in hosts]), critical=False
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


def private_key() -> str:
    """A key for a service account, PEM.

    It has half of Google's bits: it opens nothing, and clients check its primes whenever they read
    the file, for each connection of an Airflow task (5 ms in place of 33).
    """
    return _pem(rsa.generate_private_key(65537, 1024)).decode()


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

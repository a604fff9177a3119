import datetime as dt
import json
import stat

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from local_gcp import certificates, signing
from local_gcp.certificates import Pki


@pytest.fixture
def pki(tmp_path) -> Pki:
    pki = Pki(tmp_path)
    pki.ensure("local-gcp")
    return pki


def verify(pki: Pki, host: str) -> None:
    """Verify like a client that trusts ca.pem alone."""
    authority = x509.load_pem_x509_certificates(pki.ca.read_bytes())
    server = x509.load_pem_x509_certificates(pki.server.read_bytes())[0]
    verifier = PolicyBuilder().store(Store(authority))
    verifier.build_server_verifier(x509.DNSName(host)).verify(server, [])


@pytest.mark.parametrize(
    "host",
    [
        "storage.googleapis.com",
        "us-central1-aiplatform.googleapis.com",
        "dataflow.us-east4.rep.googleapis.com",
        "a-bucket.storage.googleapis.com",
        certificates.TOKEN_HOST,
    ],
)
def test_the_certificate_is_good_for_googles_hosts(pki, host):
    verify(pki, host)


def test_and_for_no_other(pki):
    with pytest.raises(VerificationError):
        verify(pki, "example.com")


def test_the_authority_can_vouch_for_googleapis_com_and_the_token_host_only(pki):
    authority = x509.load_pem_x509_certificate(pki.ca.read_bytes())
    constraints = authority.extensions.get_extension_for_class(x509.NameConstraints)
    assert constraints.critical
    names = [x509.DNSName("googleapis.com"), x509.DNSName("oauth2.local-gcp.invalid")]
    assert constraints.value.permitted_subtrees == names


def test_a_key_of_an_earlier_version_is_made_anew(pki):
    content = json.loads(pki.service_account.read_text())
    assert content["token_uri"] == "https://oauth2.local-gcp.invalid/token"
    content["token_uri"] = "https://oauth2.googleapis.com/token"
    pki.service_account.write_text(json.dumps(content))
    pki.ensure("local-gcp")
    assert json.loads(pki.service_account.read_text())["token_uri"] != content["token_uri"]


def test_private_keys_are_for_the_owner_and_the_authoritys_is_not_kept(pki, tmp_path):
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"PRIVATE KEY" not in pki.ca.read_bytes()
    assert pki.server.read_bytes().count(b"BEGIN PRIVATE KEY") == 1
    assert json.loads(pki.service_account.read_text())["project_id"] == "local-gcp"


def test_files_stay_until_they_are_about_to_expire(pki, monkeypatch, tmp_path):
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    pki.ensure("local-gcp")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before

    monkeypatch.setattr(signing, "RENEW_BEFORE", signing.VALID + dt.timedelta(days=1))
    pki.ensure("local-gcp")
    assert pki.ca.read_bytes() != before[pki.ca]
    assert pki.service_account.read_bytes() == before[pki.service_account]
    verify(pki, "storage.googleapis.com")


def test_a_certificate_for_fewer_hosts_is_made_anew(tmp_path, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr(certificates, "_hosts", lambda: ["googleapis.com", "*.googleapis.com"])
        Pki(tmp_path).ensure("local-gcp")
    pki = Pki(tmp_path)
    with pytest.raises(VerificationError):
        verify(pki, "a-bucket.storage.googleapis.com")
    pki.ensure("local-gcp")
    verify(pki, "a-bucket.storage.googleapis.com")

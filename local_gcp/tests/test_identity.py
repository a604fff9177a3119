import pytest
import requests

from local_gcp.certificates import TOKEN_HOST


@pytest.fixture
def get(local_gcp):
    """GET or POST https://HOST/PATH through the proxy."""
    env = local_gcp.client_env

    def request(method: str, url: str, **arguments) -> requests.Response:
        return requests.request(
            method,
            url,
            proxies={"https": env["https_proxy"]},
            verify=env["REQUESTS_CA_BUNDLE"],
            timeout=10,
            **arguments,
        )

    return request


ACCOUNT = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/sa@p.iam"


@pytest.mark.parametrize(
    "url",
    [
        "https://oauth2.googleapis.com/token",
        "https://www.googleapis.com/oauth2/v4/token",
        f"https://{TOKEN_HOST}/token",
    ],
)
def test_every_caller_gets_a_token(get, url):
    token = get("POST", url, data={"grant_type": "anything"}).json()
    assert token["token_type"] == "Bearer"
    assert token["expires_in"] == 3600


def test_impersonation(get):
    answer = get("POST", f"{ACCOUNT}:generateAccessToken", json={"lifetime": "600s"})
    assert set(answer.json()) == {"accessToken", "expireTime"}
    answer = get("POST", f"{ACCOUNT}:generateAccessToken", json={"lifetime": "ten"})
    assert (answer.status_code, "lifetime" in answer.text) == (400, True)
    for field, code in {"scope": 200, "delegates": 501, "nonsense": 400}.items():
        answer = get("POST", f"{ACCOUNT}:generateAccessToken", json={field: ["a"]})
        assert (answer.status_code, code == 200 or field in answer.text) == (code, True)
    assert get("GET", f"{ACCOUNT}/allowedLocations").json()["encodedLocations"] == "0x0"


def test_there_is_one_project(get):
    api = "https://cloudresourcemanager.googleapis.com"
    number = get("GET", f"{api}/v1/projects/local-gcp").json()["projectNumber"]
    assert get("GET", f"{api}/v3/projects/{number}").json()["projectId"] == "local-gcp"
    other = get("GET", f"{api}/v1/projects/elsewhere")
    assert other.status_code == 403
    assert "'local-gcp'" in other.text


def test_the_rest_is_named(get):
    answer = get("POST", f"{ACCOUNT}:signBlob", json={})
    assert answer.status_code == 501
    assert "POST https://iamcredentials." in answer.text
    assert ":signBlob" in answer.text

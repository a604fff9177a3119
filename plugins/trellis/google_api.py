"""Google's REST APIs, with application-default credentials or others."""

import os
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

SECONDS = 60
"""After which a request is given up."""

SIGN_IN = "Sign in: gcloud auth application-default login"
"""Advice on missing or refused credentials."""

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class RefusedError(Exception):
    """Google's answer was an error, or there was none.

    status: HTTP's, 0 without a response. disabled: the API that must be enabled first.
    """

    def __init__(self, status: int, message: str, disabled: str | None = None):
        super().__init__(message)
        self.status, self.message, self.disabled = status, message, disabled


class CredentialsError(Exception):
    """There are no credentials; says what to do."""


class UnreachableError(Exception):
    """There is no answer; says from where, and what to do."""


def check_emulator() -> None:
    """Raise UnreachableError if Google's services are emulated on this machine and the emulator is
    down: Google's clients would try for two minutes, and say nothing.
    """
    address = os.environ.get("STORAGE_EMULATOR_HOST")
    if not address:
        return
    server = urlsplit(address)
    port = server.port or (443 if server.scheme == "https" else 80)
    try:
        socket.create_connection((server.hostname, port), timeout=SECONDS).close()
    except OSError as error:
        raise UnreachableError(
            f"{address} does not answer: {error.strerror or error}. It emulates Google Cloud for "
            "this shell (STORAGE_EMULATOR_HOST): start it (make up), or use another shell"
        ) from None


class GoogleApi:
    """Requests as one identity. Google's libraries are imported when it is made.

    credentials: google.auth's; None: the application-default ones. Raises CredentialsError if there
    are none, and UnreachableError.
    """

    def __init__(self, credentials: Any = None) -> None:
        import google.auth
        from google.auth.exceptions import DefaultCredentialsError
        from google.auth.transport.requests import AuthorizedSession

        check_emulator()
        try:
            credentials = credentials or google.auth.default(scopes=[_SCOPE])[0]
        except DefaultCredentialsError as error:
            raise CredentialsError(f"{error}\n{SIGN_IN}") from None
        self._session = AuthorizedSession(credentials)
        self.credentials = credentials

    def caller(self) -> str:
        """Account whose permissions are tested: an e-mail address, if the credentials have it."""
        email = getattr(self.credentials, "service_account_email", None)
        if email == "default":  # the metadata server's, whose name comes with the first token
            from google.auth.transport.requests import Request

            self.credentials.refresh(Request())
            email = getattr(self.credentials, "service_account_email", None)
        return email or "the signed-in user"

    def get(self, url: str, **parameters: Any) -> dict[str, Any]:
        """The answer to GET. Raises RefusedError."""
        return self._ask("GET", url, params=parameters)

    def find(self, url: str) -> dict[str, Any] | None:
        """The answer to GET, None for 404. Raises RefusedError."""
        try:
            return self.get(url)
        except RefusedError as error:
            if error.status == 404:
                return None
            raise

    def items(self, url: str, field: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """The items of a list, page by page. Raises RefusedError."""
        token = None
        while True:
            page = self.get(url, **parameters, **({"pageToken": token} if token else {}))
            yield from page.get(field, ())
            token = page.get("nextPageToken")
            if not token:
                return

    def post(self, url: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to POST. Raises RefusedError."""
        return self._ask("POST", url, json=body)

    def put(self, url: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to PUT. Raises RefusedError."""
        return self._ask("PUT", url, json=body)

    def delete(self, url: str) -> None:
        """DELETE. Raises RefusedError."""
        self._ask("DELETE", url)

    def _ask(self, method: str, url: str, **arguments: Any) -> dict[str, Any]:
        from google.auth.exceptions import GoogleAuthError
        from requests import RequestException

        try:
            answer = self._session.request(method, url, timeout=SECONDS, **arguments)
        except (GoogleAuthError, RequestException) as error:
            raise RefusedError(0, f"{method} {url}: {error}") from None
        if not answer.ok:
            raise _refused(answer)
        return answer.json() if answer.content else {}


def _refused(answer: Any) -> RefusedError:
    try:
        error = answer.json()["error"]
        message, details = error["message"], error.get("details", ())
    except (ValueError, KeyError, TypeError):
        return RefusedError(answer.status_code, f"{answer.status_code} {answer.reason}")
    disabled = [
        detail["metadata"]["service"]
        for detail in details
        if detail.get("reason") == "SERVICE_DISABLED" and "service" in detail.get("metadata", {})
    ]
    return RefusedError(answer.status_code, message, disabled[0] if disabled else None)

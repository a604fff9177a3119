"""A plugin of pytest: which answers a test got in which local_gcp refuses something by name.

Google's clients hide some of them: an upload raises "Request failed with status code 501" alone.
The bucket that most tests of Cloud Storage share keeps old generations of its objects, which
local_gcp refuses; here it is made without, so that they try what they are about.
"""

import pytest
import requests

REFUSAL = "local_gcp does not emulate"
PROPERTY = "refusal"
_seen: list[str] = []
_send = requests.Session.send


def _recording(session, request, **options):
    answer = _send(session, request, **options)
    if answer.status_code == 501 and REFUSAL in answer.text:
        _seen.append(answer.text)
    return answer


requests.Session.send = _recording


def pytest_collection_finish():
    # Not before: the tests set variables that the client reads when it is imported.
    from google.cloud import storage

    storage.Bucket.versioning_enabled = property(lambda bucket: False, lambda bucket, value: None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    _seen.clear()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    if call.excinfo is not None:
        # A fixture that failed raises the same exception for the tests that follow.
        if _seen:
            call.excinfo.value.refusal = _seen[-1]
        if refusal := getattr(call.excinfo.value, "refusal", ""):
            item.user_properties.append((PROPERTY, refusal))
    return (yield)

"""Vertex AI's error for invalid fields of a request: INVALID_ARGUMENT, with a list of the fields.

The message is "List of found errors:" and an entry "1.Field: FIELD; Message: MESSAGE" for each, all
ended by a tab, and the details have a BadRequest with the same fields and messages. Recorded in
tests/conformance/facts/k8s-config-connector.json; quoted by users of Vertex AI, for example in
https://github.com/GoogleCloudPlatform/cortex-data-foundation/issues/27.
"""

from __future__ import annotations

import grpc

from local_gcp.wire import RpcError

REQUIRED = "Required field is not set."
"""Vertex AI's message, as users have quoted it."""


def invalid_field(field: str, message: str) -> RpcError:
    """The error for one field. `field`: its path in the request (custom_job.job_spec.timeout)."""
    return invalid_fields((field, message))


def invalid_fields(*errors: tuple[str, str]) -> RpcError:
    """The error for several fields: (path in the request, message) of each."""
    entries = (
        f"{number}.Field: {field}; Message: {message}\t"
        for number, (field, message) in enumerate(errors, 1)
    )
    text = "List of found errors:\t" + "".join(entries)
    return RpcError(grpc.StatusCode.INVALID_ARGUMENT, text, errors)

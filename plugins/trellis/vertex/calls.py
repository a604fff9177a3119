"""Settings of calls to Vertex AI: the time limit, and retries while it is busy.

Google's clients repeat no call of Vertex AI by themselves; its documentation asks for exponential
backoff on 429 and 503 (https://cloud.google.com/vertex-ai/docs/general/vertex-ai-errors). Only a
call that can be made twice without harm is repeated as it is: one whose answer was lost has been
executed.
"""

from typing import Any

from google.api_core import exceptions, retry

# Generous: a create answers in about a second, and with the client's default of 5 s a slow response
# leaves an unknown job.
CALL_TIMEOUT_SECONDS = 60.0

BUSY = (
    exceptions.ResourceExhausted,
    exceptions.ServiceUnavailable,
    exceptions.DeadlineExceeded,
    exceptions.InternalServerError,
)

REPEATABLE: dict[str, Any] = {
    "timeout": CALL_TIMEOUT_SECONDS,
    "retry": retry.Retry(
        predicate=retry.if_exception_type(*BUSY), initial=1.0, maximum=30.0, timeout=120.0
    ),
}
"""Options of an idempotent call."""

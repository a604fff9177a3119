"""Recipients of failure messages: notifiers of Airflow's, as platform.yaml names them."""

import re
from typing import Any

from pydantic import field_validator

from trellis.workflow.spec.quantities import Scalar
from trellis.workflow.spec.sections import Section, broken, key

MESSAGE = "trellis_message"
"""Name of the whole message in the templates of arguments."""

SUBJECT = "trellis_subject"
"""Name of its first line there."""

_SECRET = re.compile(r"password|passwd|secret|token|api_?key|authorization|credential", re.I)


class Notifier(Section):
    """A subclass of Airflow's BaseNotifier, and what it is made with."""

    class_: str = key(
        "class, as in airflow.providers.slack.notifications.slack_webhook.SlackWebhookNotifier",
        alias="class",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$",
    )
    arguments: dict[str, Scalar] = key(
        "its arguments; one has the text, as {{ trellis_message }}. {{ trellis_subject }} is the "
        "text's first line. Secrets are in the Airflow connection that an argument names"
    )

    @field_validator("arguments")
    @classmethod
    def _no_secret(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        for name in arguments:
            if _SECRET.search(name):
                raise broken(
                    f"'{name}' looks like a secret, and files are no place for one: put it into an "
                    "Airflow connection, and name that (an argument like smtp_conn_id)"
                )
        return arguments

"""A wrong notifier is a problem of `trellis check`, not of the night in which it is needed."""

import pytest

from tests.airflow_side import ROOT
from trellis.workflow.assembly import chain
from trellis.workflow.spec.notifier import Notifier
from trellis.workflow.spec.problems import FileError
from trellis.workflow.spec.section_validation import validate_section
from trellis.workflow.validation.file import check_on

SMTP = "airflow.providers.smtp.notifications.smtp.SmtpNotifier"
TEXT = {"html_content": "{{ trellis_message }}"}


@pytest.mark.parametrize(
    ("kind", "arguments", "said"),
    [
        (SMTP, {"to": "lab@example.org", **TEXT}, None),
        ("airflow.providers.smtp.SmtpNotifyer", TEXT, "cannot be imported: .* Install the prov"),
        ("no.such.Notifier", TEXT, "no.such.Notifier cannot be imported"),
        ("pathlib.Path", TEXT, "pathlib.Path is no subclass of airflow.sdk.BaseNotifier"),
        (SMTP, TEXT, "does not take these arguments: .* 'to'"),
        (SMTP, {"to": "x", "channel": "y", **TEXT}, "does not take these arguments: .*channel"),
        (SMTP, {"to": "x"}, r"write {{ trellis_message }} into one of .* \(from_email, to,"),
        (SMTP, {"to": "x", "auth_type": "{{ trellis_message }}"}, "would not say what has failed"),
    ],
)
def test_classes_and_arguments(digits, group, kind, arguments, said):
    entry = Notifier.model_validate({"class": kind, "arguments": arguments})
    telling = group.model_copy(update={"notify": {"night": entry}})
    file = ROOT / "dags/experiments/digits.yaml"
    if said is None:
        check_on(telling, file, digits, chain.at_most)
        return
    with pytest.raises(FileError, match=said) as raised:
        check_on(telling, file, digits, chain.at_most)
    assert "platform.yaml: notify.night" in str(raised.value)


@pytest.mark.parametrize("name", ["password", "slack_token", "webhook_secret", "api_key", "apikey"])
def test_secrets_are_in_connections_only(name):
    _, problems = validate_section(
        Notifier, {"class": SMTP, "arguments": {"to": "x", name: "s3cret", **TEXT}}
    )
    (found,) = map(str, problems)
    assert f"arguments: '{name}' looks like a secret" in found
    assert "s3cret" not in found

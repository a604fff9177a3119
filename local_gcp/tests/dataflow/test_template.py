"""Parameters of a launch, checked against the flex template."""

import pytest
from google.cloud import dataflow_v1beta3 as api

from local_gcp.dataflow.template import check_parameters, read_spec
from local_gcp.wire import RpcError

SPEC = api.ContainerSpec(
    metadata={
        "parameters": [
            {"name": "source", "regexes": ["gs://.+", ".*\\.csv"]},
            {"name": "channels", "is_optional": True, "enum_options": [{"value": "1"}]},
        ]
    }
)


def violations(spec=SPEC, **parameters):
    try:
        check_parameters(spec, parameters)
    except RpcError as error:
        head, _, details = error.message.partition("Details: \n")
        assert head == "The template parameters are invalid. "
        return details.splitlines()
    return []


def test_parameters_that_fit_pass():
    assert violations(source="gs://b/m.csv", channels="1") == []


def test_options_of_every_pipeline_need_not_be_listed():
    assert violations(source="gs://b/m.csv", temp_location="gs://b", maxNumWorkers="2") == []


def test_without_a_list_everything_is_allowed():
    assert violations(api.ContainerSpec(), whatever="1") == []


def test_every_violation_is_named():
    assert violations(channels="4", streaming="true") == [
        "source: Missing required parameter",
        "channels: Value '4' is not one of 1",
        "streaming: Unrecognized parameter",
    ]
    assert violations(source="see gs://b/m.csv") == [
        "source: Value 'see gs://b/m.csv' does not match regex 'gs://.+'"
    ]
    assert violations(source="m.txt") == [
        "source: Value 'm.txt' does not match regex 'gs://.+'",
        "source: Value 'm.txt' does not match regex '.*\\\\.csv'",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Invalid template file gs://b/t.json"),
        ("[]", "Invalid template file gs://b/t.json"),
        ('{"sdkInfo": {"language": "PYTHON"}}', "The template names no image"),
        (
            '{"image": "i", "sdkInfo": {"language": "JAVA"}}',
            "does not emulate flex templates in JAVA",
        ),
        (
            '{"image": "i", "sdkInfo": {"language": "PYTHON"}, "metadata": {"streaming": true}}',
            "does not emulate streaming templates",
        ),
    ],
)
def test_unsupported_templates(tmp_path, text, words):
    (tmp_path / "b").mkdir()
    (tmp_path / "b/t.json").write_text(text)
    launch = api.LaunchFlexTemplateParameter(container_spec_gcs_path="gs://b/t.json")
    with pytest.raises(RpcError, match=words):
        read_spec(launch, tmp_path)

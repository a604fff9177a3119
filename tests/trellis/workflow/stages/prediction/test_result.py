"""Files of a batch prediction, in Vertex AI's own form, read by `result`."""

import io
import json
from types import SimpleNamespace

import pytest

from trellis.workflow.lookups import storage
from trellis.workflow.stages.prediction import lines, result

GOOD = '{"instance": {"image": "gs://b/%d.png"}, "prediction": {"label": "cat"}}\n'
REFUSED = '{"instance": {"image": "gs://b/no.png"}, "prediction": {"error": "no image"}}\n'
POST = "Post request fails. Cannot get predictions. Error: Exceeded retries: Non-OK result 504"


@pytest.fixture
def read(monkeypatch):
    """Return what `result` finds in {file: text}."""

    def read(**files):
        blobs = [
            SimpleNamespace(
                name=f"out/{name}-00000-of-00001", open=lambda *_, t=text, **__: io.StringIO(t)
            )
            for name, text in files.items()
        ]
        monkeypatch.setattr(storage, "each_blob", lambda platform, prefix: blobs)
        return result._images(None, "gs://b/out")[0]

    return read


def test_statistics_are_numbers_of_instances_not_instances(read):
    lines = "".join(GOOD % n for n in range(992))
    statistics = f"{(POST + ' (upstream it' + chr(39) + 's slow)', 7)!r}\n{(POST, 1)!r}\n"
    found = read(**{"prediction.results": lines, "prediction.errors_stats": statistics})
    assert (found["predicted"], found["failed"]) == (992, 8)
    assert found["errors"][0]["instance"] == "7 instances"
    assert "it's slow" in found["errors"][0]["error"]
    assert result.wrong({**found, "instances": 1000}, 0.01) == ""
    assert "8 of 1,000" in result.wrong({**found, "instances": 1000}, 0.005)


def test_an_instance_that_the_server_refused_is_named(read):
    found = read(**{"prediction.results": GOOD % 1 + REFUSED, "prediction.errors_stats": ""})
    assert (found["predicted"], found["failed"]) == (1, 1)
    assert found["errors"] == [{"instance": "gs://b/no.png", "error": "no image"}]


def test_automls_files_of_images_have_another_form(read):
    image = {"content": "gs://b/1.png", "mimeType": "image/png"}
    answer = {"ids": ["7", "4"], "displayNames": ["dog", "cat"], "confidences": [0.9, 0.1]}
    refused = {"instance": image, "error": {"code": 3, "message": "no image"}}
    good = {"instance": image, "prediction": answer}
    found = read(predictions=json.dumps(good) + "\n", errors=json.dumps(refused) + "\n")
    assert (found["predicted"], found["failed"]) == (1, 1)
    assert found["errors"] == [{"instance": "gs://b/1.png", "error": "no image"}]
    probabilities = {"dog": 0.9, "cat": 0.1}
    expected = ("gs://b/1.png", None, {"label": "dog", "probabilities": probabilities})
    assert lines.of_file(json.dumps(good)) == expected


@pytest.mark.parametrize("line", ["", "('a',\n", "not a tuple\n", "('a', 'b')\n", "[1, 2, 3]\n"])
def test_a_line_of_statistics_that_cannot_be_read_is_shown_and_counted_once(read, line):
    found = read(**{"prediction.results": "", "prediction.errors_stats": line})
    assert found["failed"] == bool(line)
    assert [e["error"] for e in found["errors"]] == [line.strip()] * bool(line)

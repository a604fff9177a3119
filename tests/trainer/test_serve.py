"""The command line of trainer.serve; what it serves is tested in serving/."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from trainer.serve import parse_flags
from trainer.serving.settings import Settings

ON_VERTEX = {
    "AIP_STORAGE_URI": "gs://managed-copy/model",
    "AIP_HTTP_PORT": "8081",
    "AIP_HEALTH_ROUTE": "/v1/endpoints/1/deployedModels/2",
    "AIP_PREDICT_ROUTE": "/v1/endpoints/1/deployedModels/2:predict",
    "SERVE_HOST": "0.0.0.0",
}


def serve(*flags, **variables):
    """`python -m trainer serve FLAGS` as a process."""
    return subprocess.Popen(
        [sys.executable, "-m", "trainer", "serve", *flags],
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_on_an_endpoint_no_flag_is_needed():
    assert parse_flags([], ON_VERTEX) == Settings(
        model="gs://managed-copy/model",
        host="0.0.0.0",
        port=8081,
        health_route="/v1/endpoints/1/deployedModels/2",
        predict_route="/v1/endpoints/1/deployedModels/2:predict",
    )


def test_by_hand_it_keeps_to_loopback():
    assert parse_flags(["--model", "model"], {}) == Settings(
        model="model",
        host="127.0.0.1",
        port=8080,
        health_route="/health",
        predict_route="/predict",
    )


def test_image_uris_are_folders_and_any_by_default():
    assert parse_flags(["--model", "m"], {}).image_uris == ("gs://",)
    flags = ["--model", "m", "--image-uri", "gs://lab/", "--image-uri=gs://photos/skin/"]
    assert parse_flags(flags, {}).image_uris == ("gs://lab/", "gs://photos/skin/")


def test_flags_come_before_the_environment():
    flags = ["--model", "mine", "--host", "::1", "--port", "0"]
    settings = parse_flags(flags, ON_VERTEX)
    assert (settings.model, settings.host, settings.port) == ("mine", "::1", 0)


@pytest.mark.parametrize(
    ("flags", "environment", "message"),
    [
        ([], {}, "give --model"),
        (["--model", "s3://b/m"], {}, "not a Cloud Storage address"),
        (["--model", "m", "--port", "http"], {}, "expected 0 to 65535, got 'http'"),
        (["--model", "m"], {"AIP_HTTP_PORT": "70000"}, "AIP_HTTP_PORT"),
        (["--model", "m"], {"AIP_HEALTH_ROUTE": "ping"}, "expected a path like /health"),
        (["--model", "m"], {"AIP_PREDICT_ROUTE": "/{name}"}, "AIP_PREDICT_ROUTE"),
        (["--model", "m"], {"AIP_PREDICT_ROUTE": "/health"}, "must differ"),
        (["--modle", "m"], {}, "--mod"),
        (["--model", "m", "--image-uri", "gs://lab"], {}, "expected gs://BUCKET/ or"),
    ],
)
def test_wrong_flags(flags, environment, message, capsys):
    with pytest.raises(SystemExit) as ended:
        parse_flags(flags, environment)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_help_teaches_without_tensorflow():
    program = "import sys; from trainer.serve import main; sys.modules['tensorflow'] = None; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True
    )
    assert '{"image": "gs://..."}' in done.stdout
    assert "AIP_STORAGE_URI" in done.stdout


def test_a_folder_without_a_model(tmp_path):
    process = serve("--model", str(tmp_path), "--port", "0")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"there is no model at {tmp_path}: expected the folder" in errors


def test_a_port_that_is_taken(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = serve("--model", str(tmp_path), AIP_HTTP_PORT=str(port))
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in errors


def test_it_can_be_stopped_while_it_loads(tmp_path):
    (tmp_path / "saved_model.pb").touch()
    process = serve("--model", str(tmp_path), "--port", "0")
    assert process.stdout.readline().startswith("loading")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up")
def test_it_serves_without_the_rights_of_root_where_the_image_says_so(tmp_path):
    """The image that trains runs as root, and serves what only its libraries can load."""
    program = (
        "import os\n"
        "from trainer import serve\n"
        "from trainer.serving import server\n"
        "server.run = lambda settings: print(os.getuid(), os.getgid(), os.getgroups()) or 0\n"
        f"serve.main(['--model', {str(tmp_path)!r}])\n"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for variables in ({"SERVE_USER": "1000"}, {})
    ]
    assert found[0] == ["1000", "1000", "[]"]
    assert found[1][0] == "0"

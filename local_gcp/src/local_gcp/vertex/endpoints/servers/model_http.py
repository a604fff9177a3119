"""HTTP server of the serving programs: Vertex AI's custom-container contract. Standard
library only: it runs in the environments of other images, too.

https://cloud.google.com/vertex-ai/docs/predictions/custom-container-requirements
"""

import http.server
import json
import os
import signal
import socketserver
import threading


class BadInstance(Exception):  # noqa: N818 - it is the instance that is wrong
    """An invalid instance; the response is 400 with this message."""


def storage_path() -> str:
    """The folder with the model's files: AIP_STORAGE_URI, as it is mounted here."""
    uri = os.environ["AIP_STORAGE_URI"]
    return uri.replace("gs://", os.environ.get("GCS_ROOT", "/gcs") + "/", 1)


def serve(predict) -> None:
    """Serve `predict(request)`, a list of predictions, until SIGTERM."""
    server = _Server(("127.0.0.1", int(os.environ["AIP_HTTP_PORT"])), _Handler)
    server.predict = predict
    # shutdown() waits for serve_forever(), which this thread is in.
    ended = threading.Thread(target=server.shutdown)
    signal.signal(signal.SIGTERM, lambda *_: ended.start())
    print("ready", flush=True)
    server.serve_forever()
    server.server_close()  # waits for the current requests


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = False
    request_queue_size = 128


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer(200 if self.path == os.environ["AIP_HEALTH_ROUTE"] else 404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != os.environ["AIP_PREDICT_ROUTE"]:
            self._answer(404, {"error": f"There is nothing at {self.path}."})
            return
        try:
            request = json.loads(body)
            if not isinstance(request, dict) or not isinstance(request.get("instances"), list):
                raise BadInstance('Expected {"instances": [...]}.')
            self._answer(200, {"predictions": self.server.predict(request)})
        except (BadInstance, ValueError, RecursionError) as error:
            self._answer(400, {"error": str(error)})
        except Exception as error:
            self.log_error("%r", error)
            self._answer(500, {"error": repr(error)})

    def _answer(self, status: int, content: dict) -> None:
        sent = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_request(self, *_: object) -> None:
        pass

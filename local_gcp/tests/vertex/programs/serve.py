"""A serving container: doubles the number in each instance, and refuses what is not a number.

serve.py        the sum of an array, or of an object's values, twice
"""

import http.server
import json
import os


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(200 if self.path == os.environ["AIP_HEALTH_ROUTE"] else 404, {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        values = [i.values() if isinstance(i, dict) else i for i in body["instances"]]
        factor = (body.get("parameters") or {}).get("factor", 2)
        try:
            self.answer(200, {"predictions": [factor * sum(value) for value in values]})
        except TypeError:
            self.answer(400, {"error": "an instance is not a number"})

    def answer(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    assert os.path.isdir(os.environ["AIP_STORAGE_URI"].replace("gs:/", os.environ["GCS_ROOT"]))
    port = int(os.environ["AIP_HTTP_PORT"])
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()

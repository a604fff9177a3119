"""A serving container: of each instance the number of its values; 400 for text "bad" in one.

`size` of an answer is the number of instances in the request, `kind` what an instance is.
"""

import http.server
import json
import os


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(200, {})

    def do_POST(self):
        instances = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["instances"]
        if "bad" in json.dumps(instances):
            return self.answer(400, {"error": "bad"})
        numbers = [sum(v for v in _values(i) if isinstance(v, (int, float))) for i in instances]
        self.answer(
            200,
            {
                "predictions": [
                    {"value": number, "size": len(instances), "kind": type(instance).__name__}
                    for number, instance in zip(numbers, instances, strict=True)
                ]
            },
        )

    def answer(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def _values(instance):
    if isinstance(instance, dict):
        return instance.values()
    return instance if isinstance(instance, list) else [instance]


if __name__ == "__main__":
    address = ("127.0.0.1", int(os.environ["AIP_HTTP_PORT"]))
    http.server.ThreadingHTTPServer(address, Handler).serve_forever()

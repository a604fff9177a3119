"""A serving container for tests: answers each instance with its double, and does as it is told.

Environment: NAME (answered with each prediction), START (seconds until it listens), FAIL (exits
with this code and words), SICK (a file: while it is there, health is answered 503).
Instances: a number; {"sleep": seconds}; {"die": true}; "bad" (answered 400);
"nan" (answered with what is not JSON). A prediction repeats the instance and the parameters.
"""

import http.server
import json
import os
import sys
import time

NAME = os.environ.get("NAME", "model")


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        sick = os.path.exists(os.environ.get("SICK", "/nowhere"))
        known = self.path == os.environ["AIP_HEALTH_ROUTE"]
        self.answer(503 if sick else 200 if known else 404, b"{}")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != os.environ["AIP_PREDICT_ROUTE"]:
            return self.answer(404, b"no such path")
        if self.headers["Content-Type"] != "application/json":
            return self.answer(200, body[::-1], self.headers["Content-Type"])
        request = json.loads(body)
        if "bad" in request["instances"]:
            return self.answer(400, b'{"error": "instances[0] is bad"}')
        parameters = request.get("parameters")
        predictions = [self.predict(instance, parameters) for instance in request["instances"]]
        answer = {"predictions": predictions}
        if "parameters" in request:
            answer["metadata"] = request["parameters"]
        return self.answer(200, json.dumps(answer).encode())

    def predict(self, instance, parameters):
        sent = {"instance": instance, "parameters": parameters}
        if instance == {"environment": True}:
            return {k: v for k, v in os.environ.items() if k.startswith(("AIP_", "OWN"))}
        if instance == "nan":
            return float("nan")
        if isinstance(instance, dict) and "die" in instance:
            os._exit(3)
        if isinstance(instance, dict):
            time.sleep(instance.get("sleep", 0))
            instance = 0
        return {"model": NAME, "double": instance * 2, "pid": os.getpid(), **sent}

    def answer(self, status, content, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


if __name__ == "__main__":
    if "FAIL" in os.environ:
        print("no such file: saved_model.pb", flush=True)
        sys.exit(int(os.environ["FAIL"]))
    time.sleep(float(os.environ.get("START", 0)))
    Server(("127.0.0.1", int(os.environ["AIP_HTTP_PORT"])), Handler).serve_forever()

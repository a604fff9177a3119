"""A server that doubles numbers: {"x": 2} is answered {"value": 4}.

serving.json in the model's folder says what goes wrong:
    {"skew": 0.5}          added to each answer: another preprocessing than offline
    {"sleep": 0.2}         seconds for each answer
    {"status": 500}        instead of an answer
    {"exit": 3}            before it listens
"""

import http.server
import json
import os
import sys
import time

from trainer import path

rules = path(os.environ["AIP_STORAGE_URI"]) / "serving.json"
RULES = json.loads(rules.read_text()) if rules.exists() else {}

if "exit" in RULES:
    sys.exit(RULES["exit"])


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(200 if self.path == os.environ["AIP_HEALTH_ROUTE"] else 404, {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(RULES.get("sleep", 0))
        skew = RULES.get("skew", 0)
        predictions = [{"value": 2 * each["x"] + skew} for each in body["instances"]]
        self.answer(RULES.get("status", 200), {"predictions": predictions})

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(
    ("127.0.0.1", int(os.environ["AIP_HTTP_PORT"])), Handler
).serve_forever()

"""A serving container for batch predictions: as trainer.serve answers, without a model.

Images: the label is the name of the image's folder; below a folder `cells`, also of a
`photo`, the answer is a mask.
Rows with a `hazard`: the answer is of a survival, at a year.
Other rows: the label is whether `x` is above 0; all features must be there, and nothing else;
`photo` is an address. An instance that says "bad" is refused: by itself if the request has the
parameter `each`. One that says "worse" fails its request in any case.
"""

import http.server
import json
import math
import os

CLASSES = ("false", "true")
MASK = "AAECAw=="
"""Four bytes: nobody who passes a mask on reads it."""
OF_CELLS = {"mask": {"b64": MASK}, "shares": {"background": 0.75, "cell": 0.25}}


def predict(instance):
    if "image" in instance:
        if "bad" in instance["image"]:
            raise ValueError(f"{instance['image']} is no image")
        if "/cells/" in instance["image"]:
            return OF_CELLS
        label = instance["image"].split("/")[-2]
        return {"label": label, "probabilities": shares(label, {*CLASSES, label})}
    columns = set(os.environ["COLUMNS"].split(","))
    if set(instance) != columns:
        raise ValueError(f"expected {sorted(columns)}, got {sorted(instance)}")
    if "hazard" in instance:
        hazard = instance["hazard"]
        return {"risk": hazard, "survival": {"365": math.exp(-hazard)}}
    if instance.get("stage") == "bad":
        raise ValueError("stage: bad")
    if "taken" in instance and not instance["taken"].endswith("Z"):
        raise ValueError(f"taken: {instance['taken']}")
    photo = str(instance.get("photo", "gs://"))
    if "bad" in photo or not photo.startswith("gs://"):
        raise ValueError(f"photo: {instance['photo']}")
    if "/cells/" in photo:
        return OF_CELLS
    if instance.get("stage") == "worse":
        raise RuntimeError("stage: worse")
    label = "unknown" if instance["x"] is None else str(instance["x"] > 0).lower()
    return {"label": label, "probabilities": shares(label, CLASSES)}


def shares(label, classes):
    return {name: float(name == label) for name in classes}


def answer_to(instance):
    try:
        return predict(instance)
    except ValueError as error:
        return {"error": str(error)}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(200, {})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert request["parameters"] == {"each": True}
        try:
            self.answer(200, {"predictions": [answer_to(i) for i in request["instances"]]})
        except RuntimeError as error:
            self.answer(400, {"error": str(error)})

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    address = ("127.0.0.1", int(os.environ["AIP_HTTP_PORT"]))
    http.server.ThreadingHTTPServer(address, Handler).serve_forever()

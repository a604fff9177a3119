"""Serve predictions of a trained model over HTTP, as Vertex AI asks of a custom container.

On an endpoint, Vertex AI sets the model, port and routes (AIP_STORAGE_URI, AIP_HTTP_PORT,
AIP_HEALTH_ROUTE, AIP_PREDICT_ROUTE), and no flag is needed. By hand:

  python -m trainer.serve --model gs://BUCKET/EXPERIMENT/runs/RUN/training/1/model/
  python -m trainer.serve --model ./model --port 0                 on any free port

  curl localhost:8080/health                                       200 once the model is ready
  echo '{"instances": [{"image": {"b64": "'$(base64 -w0 seven.png)'"}}]}' |
    curl localhost:8080/predict --data-binary @-

Request    {"instances": [INSTANCE, ...]}, up to 256 instances and 10 MB. An instance is
             {"radius_mean": 17.9, "smoker": false, "site": "left", "stage": null,
              "taken": "2024-02-29T12:00:00Z", "pulse": [61.0, 63.5]}
           the raw value of every feature's column, null if it is not known; a number may be a
           string, "17.9", as BigQuery writes NUMERIC in JSON. A column of images, of a manifest's
           `image`, has one of
             {"image": {"b64": "..."}}           the image file in base64
             {"image": "gs://..."}               readable by the server's service account, below
                                                 one of --image-uri
           JPEG, PNG, BMP, GIF, WEBP, TIFF or DICOM up to 33.6 megapixels, never null
Response   {"predictions": [PREDICTION, ...]}, in the order of the instances:
             {"label": "7", "probabilities": {"0": 0.0012, ..., "7": 0.9731, ...}}
             {"value": 152.1}                    for a regression, in the label's unit
             {"labels": ["mass", "nodule"], "probabilities": {...}}       of a multi-label task
             {"mask": {"b64": "..."}, "shares": {"background": 0.81, "cell": 0.19}}   of a
           segmentation: a PNG of 8 bits, whose pixels are indices of classes, of the size that the
           model sees, and the share of each class. The masks of a response have 10 MB at most
           If the experiment asks for it, an answer has "abstained": true where it is handed back,
           and the "set" of classes, or the "interval", that has the truth with a set probability
           The label is the most probable class, or what the model's own threshold decides;
           labels are the classes with a probability above 0.5
           With "parameters": {"explain": {}} in the request, each has an "explanation": what each
           column, and each pixel, adds to the score. trainer/serving/parameters.py has the options,
           trainer/serving/explanations.py the answer; models of masks refuse it

Errors     {"error": {"code", "status", "message", "details"}}; `details` names each wrong field
  400, 413   the request is wrong, for example instances[3].image.b64; none of it is answered
  429, 503   too many requests, or the model is still loading: retry after Retry-After seconds
  500        an error of the server; see its log

Concurrent requests share one call of the model. On SIGTERM the server reports itself unhealthy
(503), answers the requests that still arrive, and exits. Exit codes: 0 ended by a signal, 1 could
not serve, 2 wrong flags.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

from trainer import storage
from trainer.serving.settings import ANY_IMAGE, Settings

_ROUTES = {"AIP_HEALTH_ROUTE": "/health", "AIP_PREDICT_ROUTE": "/predict"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    settings = parse_flags(sys.argv[1:] if argv is None else argv)
    if (user := os.environ.get("SERVE_USER")) and os.geteuid() == 0:
        _become(int(user))
    # Takes a second to import: --help and a wrong flag must not wait for it.
    from trainer.serving import server

    return server.run(settings)


def _become(user: int) -> None:
    """Give up the rights of root: the image that trains runs as root, and its server must not."""
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def parse_flags(argv: Sequence[str], environment: Mapping[str, str] = os.environ) -> Settings:
    """The checked settings. Exits: with code 2 if something is wrong, with 0 after --help."""
    parser = _parser(environment)
    flags = parser.parse_args(argv)
    if not flags.model:
        parser.error("give --model, the folder of a SavedModel (on Vertex AI: AIP_STORAGE_URI)")
    if "://" in flags.model:
        try:
            storage.split_uri(flags.model)
        except storage.StorageError as error:
            parser.error(f"--model: {error}")
    for prefix in flags.image_uri or []:
        if not prefix.startswith("gs://") or not prefix.endswith("/"):
            expected = "gs://BUCKET/ or gs://BUCKET/FOLDER/"
            parser.error(f"--image-uri: expected {expected}, got {prefix!r}")
    try:
        port = int(flags.port)
    except ValueError:
        port = -1
    if not 0 <= port <= 65535:
        parser.error(f"--port (AIP_HTTP_PORT): expected 0 to 65535, got {flags.port!r}")
    routes = {name: environment.get(name) or default for name, default in _ROUTES.items()}
    for name, route in routes.items():
        if not route.startswith("/") or set(route) & set("{}?#"):
            parser.error(f"{name}: expected a path like {_ROUTES[name]}, got {route!r}")
    if len(set(routes.values())) < len(routes):
        parser.error(f"{' and '.join(routes)} must differ: both are {routes['AIP_HEALTH_ROUTE']!r}")
    return Settings(
        model=flags.model,
        host=flags.host,
        port=port,
        health_route=routes["AIP_HEALTH_ROUTE"],
        predict_route=routes["AIP_PREDICT_ROUTE"],
        image_uris=tuple(flags.image_uri or ANY_IMAGE),
    )


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainer.serve",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--model",
        default=environment.get("AIP_STORAGE_URI"),
        metavar="ADDRESS",
        help="folder of a SavedModel that trainer.task wrote, gs://... or a path "
        "(default: $AIP_STORAGE_URI)",
    )
    parser.add_argument(
        "--host",
        default=environment.get("SERVE_HOST") or "127.0.0.1",
        help="address to listen on; the image sets SERVE_HOST to 0.0.0.0, so that a container can "
        "be reached from outside (default: $SERVE_HOST, else 127.0.0.1)",
    )
    parser.add_argument(
        "--port",
        default=environment.get("AIP_HTTP_PORT") or "8080",
        help="port to listen on; 0: any free one, which is printed (default: $AIP_HTTP_PORT, else "
        "8080)",
    )
    parser.add_argument(
        "--image-uri",
        action="append",
        metavar="PREFIX",
        help="folder gs://BUCKET/ or gs://BUCKET/FOLDER/ whose images a request may name; may be "
        "given several times (default: whatever the service account may read)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

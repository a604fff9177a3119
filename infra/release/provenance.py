"""Write provenance.json of an image that was just built.

    python3 infra/release/provenance.py FOLDER <<<"$(pin.sh --all)"

FOLDER is of images.sh: `image` is the image with its digest, `options` what docker build was given
(one a line), beside sbom.spdx.json and sources.sha256. The standard input has the images that the
repository's files name: a file, a tab, an image. PROJECT, REGION and BUILD are in the environment.
The form is that of https://in-toto.io/Statement/v1 and https://slsa.dev/spec/v1.0/provenance.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path


def statement(folder: Path, named: Iterable[str], environ: Mapping[str, str]) -> dict[str, object]:
    """Return the statement about the image of a folder.

    Raises ValueError for an image without a digest: its own, or one that its Dockerfile names.
    """
    options = (folder / "options").read_text().splitlines()
    dockerfile = options[options.index("--file") + 1]
    bases = [image for file, image in (line.split("\t") for line in named) if file == dockerfile]
    place = f"projects/{environ['PROJECT']}/locations/{environ['REGION']}"
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [image((folder / "image").read_text().strip())],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:trellis:infra/release/images.sh",
                "externalParameters": {"docker build": options},
                "resolvedDependencies": [content(folder / "sources.sha256"), *map(image, bases)],
            },
            "runDetails": {
                "builder": {"id": f"//cloudbuild.googleapis.com/{place}"},
                "metadata": {"invocationId": f"{place}/builds/{environ['BUILD']}"},
                "byproducts": [content(folder / "sbom.spdx.json")],
            },
        },
    }


def image(name: str) -> dict[str, object]:
    """Return an image that is named by digest as a resource descriptor of in-toto."""
    address, _, digest = name.partition("@sha256:")
    if not digest:
        raise ValueError(f"{name} is not named by its digest")
    return {"name": address, "digest": {"sha256": digest}}


def content(file: Path) -> dict[str, object]:
    """Return a file as a resource descriptor of in-toto."""
    return {"name": file.name, "digest": {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}}


if __name__ == "__main__":
    target = Path(sys.argv[1])
    written = statement(target, sys.stdin.read().splitlines(), os.environ)
    (target / "provenance.json").write_text(json.dumps(written, indent=1) + "\n")

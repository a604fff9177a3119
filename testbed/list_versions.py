"""The versions of a model, oldest first: [{"version": "1", "aliases": [...], "run": "..."}, ...].

    python list_versions.py PROJECT REGION MODEL

A program of its own, because Google's client reads its environment when it is imported.
"""

import json
import sys

from google.cloud import aiplatform_v1 as vertex


def main(project: str, region: str, model: str) -> None:
    client = vertex.ModelServiceClient(
        client_options={"api_endpoint": f"{region}-aiplatform.googleapis.com"}
    )
    name = f"projects/{project}/locations/{region}/models/{model}"
    # A list may lag behind what was changed just now.
    listed = [f"{name}@{version.version_id}" for version in client.list_model_versions(name=name)]
    versions = [
        {
            "version": version.version_id,
            "aliases": [alias for alias in version.version_aliases if alias != "default"],
            "run": version.labels["trellis-run"],
        }
        for version in (client.get_model(name=each) for each in listed)
    ]
    print(json.dumps(sorted(versions, key=lambda version: int(version["version"]))))


if __name__ == "__main__":
    main(*sys.argv[1:])

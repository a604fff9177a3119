"""The program of a batch prediction: python -m local_gcp.vertex.batch_prediction.predict CONFIG

CONFIG: "model" (kind: tabular, image or container; and where it is), "input" (format, files),
"instance" (InstanceConfig), "parameters", "batch_size", "output" (format; folder, in a bucket, or
null: the server makes tables of the Parquet files), "buckets". Restarted after a kill, it repeats
everything, and replaces existing files.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from local_gcp.vertex.automl import model as automl
from local_gcp.vertex.automl.features import DataError
from local_gcp.vertex.batch_prediction import files, instances, rows
from local_gcp.wire import RpcError


def main(config_file: str) -> int:
    """Exit code: 0, or 1 when the instances cannot be predicted."""
    config = json.loads(Path(config_file).read_text())
    work = Path(config_file).parent / "results"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    kind, output = config["model"]["kind"], config["output"]
    try:
        if kind == "container":
            counts = instances.predict_container(config, work)
        else:
            model = automl.load(Path(config["model"]["folder"]))
            predict = rows.predict if kind == "tabular" else instances.predict_images
            counts = predict(model, config, work)
        # Real jobs of containers that refused all requests have succeeded.
        if kind != "container" and not counts.successful and counts.failed:
            raise DataError(f"No instance could be predicted. {counts.problems[0]['message']}")
    except (DataError, RpcError) as error:
        print(f"error: {error}", flush=True)
        return 1
    if output["folder"]:
        form = "image" if kind == "image" else output["format"]
        files.publish(work, form, Path(output["folder"]))
    counts.write(work)
    print(f"{counts.successful} predicted, {counts.failed} failed", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""Submits a CustomJob that ends when FILE is there, and prints its name: `submit.py FILE`."""

import sys

from google.cloud import aiplatform

aiplatform.init(project="local-gcp", location="us-central1", staging_bucket="gs://none")
pool = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {
        "image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        "command": [
            "sh",
            "-c",
            f"echo start; while ! test -e {sys.argv[1]}; do sleep 0.1; done; echo end",
        ],
    },
}
job = aiplatform.CustomJob(display_name="waiting", worker_pool_specs=[pool])
job.submit()
print(job.resource_name)

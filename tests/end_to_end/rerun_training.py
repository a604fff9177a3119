"""Submits the training of a finished run once more, to another folder, and waits for it.

    python rerun_training.py JOB gs://BUCKET/FOLDER/

A program of its own, because Google's client reads its environment when it is imported.
"""

import sys
import time

from google.cloud import aiplatform_v1 as vertex


def main(name: str, folder: str) -> None:
    region = name.split("/")[3]
    client = vertex.JobServiceClient(
        client_options={"api_endpoint": f"{region}-aiplatform.googleapis.com"}
    )
    spec = client.get_custom_job(name=name).job_spec
    spec.base_output_directory.output_uri_prefix = folder
    job = vertex.CustomJob(display_name="undisturbed", job_spec=spec)
    job = client.create_custom_job(parent=name.split("/customJobs/")[0], custom_job=job)
    while not job.end_time:
        time.sleep(1)
        job = client.get_custom_job(name=job.name)
    if job.state != vertex.JobState.JOB_STATE_SUCCEEDED:
        raise SystemExit(f"{job.state.name}: {job.error.message}")


if __name__ == "__main__":
    main(*sys.argv[1:])

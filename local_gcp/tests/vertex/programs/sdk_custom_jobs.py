"""Google's SDK for CustomJobs, with its usual arguments: `sdk_custom_jobs.py BUCKET FOLDER`."""

import json
import sys
import time
from pathlib import Path

from google.cloud import aiplatform, storage

BUCKET, FOLDER = sys.argv[1], Path(sys.argv[2])
IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
SCRIPT = FOLDER / "task.py"
SCRIPT.write_text(
    "import os, sys\n"
    "print('model to', os.environ['AIP_MODEL_DIR'], 'with', sys.argv[1:], os.environ['FLAVOUR'])\n"
)


def pool(code, replicas=1):
    return {
        "machine_spec": {
            "machine_type": "n1-standard-4",
            "accelerator_type": "NVIDIA_TESLA_T4",
            "accelerator_count": 1,
        },
        "replica_count": replicas,
        "disk_spec": {"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 100},
        "container_spec": {"image_uri": IMAGE, "command": ["python", "-c"], "args": [code]},
    }


def job(name, *pools, **options):
    return aiplatform.CustomJob(
        display_name=name,
        worker_pool_specs=list(pools),
        base_output_dir=f"gs://{BUCKET}/{name}",
        labels={"team": "sdk", "name": name},
        **options,
    )


storage.Client().create_bucket(BUCKET)
aiplatform.init(project="local-gcp", location="us-central1", staging_bucket=f"gs://{BUCKET}")
answer = {}

distributed = job(
    "distributed",
    pool("import os; print(os.environ['TF_CONFIG'])"),
    pool("import time; time.sleep(60)", replicas=2),
)
distributed.run(
    service_account="local@local-gcp.iam.gserviceaccount.com",
    network="projects/100000000001/global/networks/research",
    timeout=3600,
    restart_job_on_worker_restart=True,
    enable_web_access=True,
    scheduling_strategy=aiplatform.compat.types.custom_job.Scheduling.Strategy.SPOT,
    max_wait_duration=600,
    disable_retries=False,
    sync=False,
)

script = aiplatform.CustomJob.from_local_script(
    display_name="script",
    script_path=str(SCRIPT),
    container_uri=IMAGE,
    args=["--epochs", "3"],
    requirements=["numpy>=1"],
    environment_variables={"FLAVOUR": "sweet"},
    machine_type="n1-standard-4",
    replica_count=1,
    base_output_dir=f"gs://{BUCKET}/script",
    labels={"team": "sdk", "name": "script"},
)
script.run(sync=False)

lacking = aiplatform.CustomJob.from_local_script(
    display_name="lacking",
    script_path=str(SCRIPT),
    container_uri=IMAGE,
    requirements=["no-such-thing==1.0"],
)
lacking.run(sync=False)

broken = job("broken", pool("raise ValueError('units must be positive')"))
broken.run(sync=False)

endless = job("endless", pool("import time; time.sleep(600)"))
endless.submit()
while endless.state != aiplatform.gapic.JobState.JOB_STATE_RUNNING:
    time.sleep(0.1)
endless.cancel()
while endless.end_time is None:
    time.sleep(0.1)
    endless._sync_gca_resource()
answer["endless"] = [endless.state.name, endless.error.message]

distributed.wait()
script.wait()
answer["distributed"] = distributed.state.name
answer["script"] = script.state.name
answer["name"] = distributed.resource_name
for one in (broken, lacking):
    try:
        one.wait()
    except RuntimeError as error:
        answer[one.display_name] = str(error)

found = aiplatform.CustomJob.list(
    filter='labels.team="sdk" AND NOT state="JOB_STATE_SUCCEEDED"', order_by="create_time desc"
)
answer["found"] = [one.display_name for one in found]
again = aiplatform.CustomJob.get(distributed.resource_name)
answer["got"] = again.display_name
print(json.dumps(answer))

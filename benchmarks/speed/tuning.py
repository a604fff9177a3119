"""Wall time of a whole tuning job: Vertex AI's API on local_gcp, and trials that are trainer.task.

A trial is a process with TensorFlow, whose start takes longer than its training; it has one core,
so that one at a time leaves the others idle. Trials beyond the cores share them, which Vertex AI's
do not: there every trial has machines of its own.
"""

import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from google.cloud import aiplatform_v1 as api

from benchmarks.speed import emulator

ROOT = Path(__file__).resolve().parents[2]
REGION, BUCKET, TRIALS = "us-central1", "bench", 4
WRITE = (
    "from pathlib import Path; from benchmarks.speed.fitting import rows; rows(Path({!r}), 1_000)"
)
PARAMETERS = [
    {
        "parameter_id": "learning_rate",
        "double_value_spec": {"min_value": 1e-4, "max_value": 1e-2},
        "scale_type": "UNIT_LOG_SCALE",
    },
    {"parameter_id": "units", "discrete_value_spec": {"values": [32, 64, 128]}},
]


def job(dataset, parallel):
    flags = {"dataset": dataset, "model": "dense", "task": "binary_classification"}
    flags |= {"metric": "accuracy", "outputs": "metrics", "epochs": 3}
    container = {
        "image_uri": "local/trellis/trainer:bench",
        "command": ["python", "-m", "trainer.task"],
        "args": [f"--{name}={value}" for name, value in flags.items()],
    }
    pool = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}
    return api.HyperparameterTuningJob(
        display_name=f"{parallel} at once",
        study_spec={
            "metrics": [{"metric_id": "accuracy", "goal": "MAXIMIZE"}],
            "parameters": PARAMETERS,
        },
        max_trial_count=TRIALS,
        parallel_trial_count=parallel,
        trial_job_spec={
            "worker_pool_specs": [pool | {"container_spec": container}],
            "base_output_directory": {"output_uri_prefix": f"gs://{BUCKET}/{time.time_ns()}"},
        },
    )


@contextmanager
def parallel(scratch):
    """Seconds of the job with two trials at once, beside one at a time and all four."""
    dataset = scratch / "rows"
    dataset.mkdir()
    write = [ROOT / ".venv/trainer/bin/python", "-c", WRITE.format(str(dataset))]
    subprocess.run(write, cwd=ROOT, check=True)
    images = ("--images", str(ROOT / "demo/images.yaml"))
    with emulator.started(scratch / "home", "--cores", str(TRIALS), *images) as buckets:
        (buckets / BUCKET).mkdir()
        options = {"api_endpoint": f"{REGION}-aiplatform.googleapis.com"}
        client = api.JobServiceClient(client_options=options)
        parent = f"projects/local-gcp/locations/{REGION}"

        def seconds(parallel):
            start = time.perf_counter()
            sent = job(f"{dataset}/d", parallel)
            made = client.create_hyperparameter_tuning_job(
                parent=parent, hyperparameter_tuning_job=sent
            )
            while not made.end_time:
                time.sleep(0.05)
                made = client.get_hyperparameter_tuning_job(name=made.name)
            states = [trial.state.name for trial in made.trials]
            if states != ["SUCCEEDED"] * TRIALS:
                raise SystemExit(f"{made.name}: {states}, {made.error.message}")
            return time.perf_counter() - start

        yield {
            "ours": lambda: seconds(2),
            "peer": lambda: seconds(1),
            "limit": lambda: seconds(4),
        }

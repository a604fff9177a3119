"""A server with the runner and tuning alone: tuning_process.py HOME TRIAL_PROGRAM TRIALS.

Takes on one tuning job of TRIALS trials, two in parallel, unless it is there; says "up", then
"finished" when the job is, and runs until killed.
"""

import sys
import threading
import time

from google.cloud import aiplatform_v1 as api

from local_gcp.home import Home
from local_gcp.jobs.run import Pool, Program, Spec
from local_gcp.jobs.runner import Runner
from local_gcp.state import State
from local_gcp.vertex.tuning.controller import Controller
from local_gcp.vertex.tuning.space import flags
from local_gcp.vertex.tuning.store import timestamp

NAME = "projects/1/locations/us-central1/hyperparameterTuningJobs/42"


def spec(_job, trial):
    argv = [sys.executable, "-I", "-S", program, trial.id, *flags(trial.parameters)]
    return Spec([Pool(Program(argv, {}, str(home.root)))])


home, program = Home(sys.argv[1]), sys.argv[2]
state = State(home.state)
runner = Runner(home, state, {}, cores=2)
controller = Controller(state, runner, spec)
runner.start()
controller.start()
if not controller.store.get(NAME):
    controller.submit(
        api.HyperparameterTuningJob(
            name=NAME,
            study_spec={
                "metrics": [{"metric_id": "accuracy"}],
                "parameters": [
                    {"parameter_id": "x", "double_value_spec": {"min_value": 0, "max_value": 1}}
                ],
            },
            max_trial_count=int(sys.argv[3]),
            parallel_trial_count=2,
            state="JOB_STATE_PENDING",
            create_time=timestamp(time.time()),
        )
    )
print("up", flush=True)
while not controller.store.get(NAME).end_time:
    time.sleep(0.05)
print("finished", flush=True)
threading.Event().wait()

"""A server with nothing but the runner: python runner_process.py HOME CORES < JSON {run: script}.

Submits the runs (again, when it was killed and started anew), says "up", and runs until killed.
"""

import json
import sys
import threading

from local_gcp.home import Home
from local_gcp.jobs.run import Pool, Program, Spec
from local_gcp.jobs.runner import Runner
from local_gcp.state import State

home = Home(sys.argv[1])
runner = Runner(home, State(home.state), {}, cores=int(sys.argv[2]))
runner.start()
for run_id, script in json.load(sys.stdin).items():
    program = Program(["/bin/sh", "-c", script], {"PATH": "/usr/bin:/bin"}, str(home.root))
    runner.submit(run_id, Spec([Pool(program)]))
print("up", flush=True)
threading.Event().wait()

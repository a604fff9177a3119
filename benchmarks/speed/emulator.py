"""A local_gcp of a row's own, to which Google's clients of this process then go."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager

COMMAND = (sys.executable, "-m", "local_gcp")


@contextmanager
def started(home, *options):
    """Start local_gcp with its state in `home`; give the folder of its buckets."""
    os.environ["LOCAL_GCP_HOME"] = str(home)
    try:
        subprocess.run([*COMMAND, "up", *options], check=True)
        shown = subprocess.run([*COMMAND, "env", "--json"], check=True, capture_output=True)
        os.environ |= json.loads(shown.stdout)
        yield home / "buckets"
    finally:  # in a session of its own: a second Ctrl-C does not keep the server alive
        subprocess.run([*COMMAND, "down"], start_new_session=True)

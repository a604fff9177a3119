"""A flex template's program: waits, fails or writes the object `--output`, as it is told."""

import argparse
import os
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--output", default="")
parser.add_argument("--seconds", type=float, default=0)
parser.add_argument("--fail", default="")
options, _ = parser.parse_known_args()

time.sleep(options.seconds)
if options.fail:
    sys.exit(options.fail)
if options.output:
    path = Path(os.environ["GCS_ROOT"], options.output.removeprefix("gs://"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")

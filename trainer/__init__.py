"""The package in the job image: exports datasets, trains models, compares contenders, serves."""

import os
import sys

from trellis_contracts import job_image

# Before any command reads its flags, which may be another release's.
if problem := job_image.other_release(os.environ.get(job_image.STARTED_BY)):
    sys.exit(problem)

"""The Airflow provider's BigQueryHook, on which its operators stand: `provider_hook.py JOB QUERY`.

Prints, as JSON, the job's resource, and the error of a second job with its id.
"""

import json
import os
import sys
import tempfile

os.environ |= {
    "AIRFLOW_HOME": tempfile.mkdtemp(prefix="airflow-"),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
}

from airflow.providers.google.cloud.hooks.bigquery import BigQueryHook
from google.api_core.exceptions import Conflict

JOB, QUERY = sys.argv[1:]
configuration = {"query": {"query": QUERY, "useLegacySql": False}}
hook = BigQueryHook(location="US")
job = hook.insert_job(configuration=configuration, job_id=JOB, project_id="local-gcp")
try:
    hook.insert_job(configuration=configuration, job_id=JOB, project_id="local-gcp")
    conflict = None
except Conflict as error:
    conflict = error.message
print(json.dumps({"job": job.to_api_repr(), "conflict": conflict}), flush=True)
os._exit(0)

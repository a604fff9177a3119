"""What a server leaves out of its imports."""

import subprocess
import sys

PROGRAM = """
import sys

from local_gcp.imports import leave_out_clients

leave_out_clients()
from google.cloud import bigquery_storage_v1 as api
from local_gcp.wire import method_table

assert api.ReadRowsRequest(offset=3).offset == 3
table = method_table("google.cloud.bigquery_storage_v1.services.big_query_read")
request, _ = table["/google.cloud.bigquery.storage.v1.BigQueryRead/ReadRows"]
assert request is api.ReadRowsRequest
assert not hasattr(api, "BigQueryReadClient")
print(*sorted(name for name in sys.modules if name.endswith("client") or name == "pandas"))
"""


def test_googles_messages_come_without_their_clients() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= {"http.client", "google.oauth2._client"}

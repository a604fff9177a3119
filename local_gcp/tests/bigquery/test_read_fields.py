"""Every field of the Storage Read API's requests is sent once: it is refused by name, or has the
effect that another test shows.
"""

import pytest
from google.cloud.bigquery_storage_v1 import types
from google.cloud.bigquery_storage_v1.services.big_query_read import BigQueryReadClient

from local_gcp.bigquery.read_api import _Read
from local_gcp.wire import method_table, snake_case
from tests.proto_fields import taken

SERVICE = "google.cloud.bigquery_storage_v1.services.big_query_read"
VALID = {"data_format": "ARROW", "row_restriction": "n > 0", "selected_fields": "n"}
TAKEN = {
    # The number of streams, columns and rows: test_reads.py.
    "CreateReadSessionRequest": {
        "max_stream_count",
        "preferred_min_stream_count",
        "read_session.data_format",
        "read_session.read_options.row_restriction",
        "read_session.read_options.selected_fields",
        # Of a batch's bytes, which a reader sees to: those that are not compressed are valid.
        "read_session.read_options.arrow_serialization_options.buffer_compression",
        "read_session.trace_id",  # of Google's own traces
    },
    "ReadRowsRequest": {"offset"},
}


@pytest.fixture
def requests(client, dataset, monkeypatch):
    """One that is accepted, of each class."""
    client.query(f"CREATE TABLE {dataset}.t AS SELECT 1 AS n").result()
    parent = f"projects/{client.project}"
    wanted = {"table": f"{parent}/datasets/{dataset}/tables/t", "data_format": "ARROW"}
    created = types.CreateReadSessionRequest(parent=parent, read_session=wanted)
    (stream,) = BigQueryReadClient().create_read_session(created).streams
    return [created, types.ReadRowsRequest(read_stream=stream.name)]


def test_no_field_is_taken_and_ignored(requests):
    reader = BigQueryReadClient()
    calls = {
        "CreateReadSessionRequest": reader.create_read_session,
        "ReadRowsRequest": lambda request: list(reader.read_rows(request)),
    }
    found = {
        type(request).__name__: taken(types, request, calls[type(request).__name__], VALID)
        for request in requests
    }
    assert found == TAKEN


def test_each_request_is_tried():
    emulated = {
        request.__name__
        for path, (request, _) in method_table(SERVICE).items()
        if hasattr(_Read, snake_case(path.rpartition("/")[2])) or path.endswith("/ReadRows")
    }
    assert emulated == TAKEN.keys()

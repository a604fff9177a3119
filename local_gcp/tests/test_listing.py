"""Pages and read masks."""

import datetime

import grpc
import pytest
from google.cloud.aiplatform_v1 import CustomJob
from google.protobuf.field_mask_pb2 import FieldMask
from hypothesis import given
from hypothesis import strategies as st

from local_gcp.listing import masked, page
from local_gcp.wire import RpcError


def job(number):
    created = datetime.datetime.fromtimestamp(number / 2, datetime.UTC)
    return CustomJob(name=f"jobs/{number}", create_time=created, display_name="x")


def names(jobs):
    return [job.name for job in jobs]


def test_newest_first():
    jobs, token = page([job(1), job(3), job(2)], 0, "")
    assert (names(jobs), token) == (["jobs/3", "jobs/2", "jobs/1"], "")


@given(st.integers(0, 12), st.integers(1, 5))
def test_pages_together_are_the_whole_list(count, size):
    everything, token, seen = [job(n) for n in range(count)], "", []
    while True:
        jobs, token = page(everything, size, token)
        seen += names(jobs)
        assert len(jobs) <= size
        if not token:
            break
    assert seen == [f"jobs/{n}" for n in reversed(range(count))]


def test_creations_and_deletions_between_pages_repeat_and_skip_nothing():
    first, token = page([job(n) for n in range(4)], 2, "")
    assert names(first) == ["jobs/3", "jobs/2"]
    second, _ = page([job(n) for n in (0, 1, 3, 4, 5)], 2, token)  # 2 is gone, 4 and 5 are new
    assert names(second) == ["jobs/1", "jobs/0"]


@pytest.mark.parametrize(
    ("size", "token", "field"), [(-1, "", "page_size"), (1, "xy", "page_token")]
)
def test_bad_pages_are_refused(size, token, field):
    with pytest.raises(RpcError) as refusal:
        page([], size, token)
    assert [named for named, _ in refusal.value.violations] == [field]


def test_a_read_mask_keeps_only_its_fields():
    assert masked(job(1), FieldMask(paths=["name"])) == CustomJob(name="jobs/1")
    assert masked(job(1), FieldMask()) == job(1)
    for path in ("no_such", "name.part", "labels.a"):
        with pytest.raises(RpcError, match="read_mask") as caught:
            masked(job(1), FieldMask(paths=[path]))
        assert caught.value.code == grpc.StatusCode.INVALID_ARGUMENT

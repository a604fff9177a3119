from pathlib import Path

import pytest

from local_gcp.rest import ApiError
from local_gcp.storage.naming import bucket_path, object_path

ROOT = Path("/root")


@pytest.mark.parametrize("name", ["abc", "my-bucket_1", "example.com", "0a0"])
def test_buckets_are_folders(name):
    assert bucket_path(ROOT, name) == ROOT / name


@pytest.mark.parametrize("name", ["", "ab", "Abc", "-abc", "a..b", "a/b", "..", "abc-", "a b"])
def test_impossible_buckets_are_refused(name):
    with pytest.raises(ApiError, match="Invalid bucket name"):
        bucket_path(ROOT, name)


@pytest.mark.parametrize("name", ["a", "a/b.txt", "ü", "a b/c?d#e%2F", "folder/", "x" * 255])
def test_objects_are_files(name):
    assert object_path(ROOT, "bucket", name) == ROOT / "bucket" / name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../secret", "the path segment '..'"),
        ("a/./b", "the path segment '.'"),
        ("a//b", "the path segment ''"),
        ("/a", "the path segment ''"),
        ("a\nb", "line breaks"),
        ("a\0b", "a control character"),
        ("x" * 256, "longer than 255 bytes"),
        ("x/" * 600, "1 to 1024 bytes"),
        ("", "1 to 1024 bytes"),
    ],
)
def test_what_a_file_system_cannot_hold_is_refused_with_the_reason(name, reason):
    with pytest.raises(ApiError) as refused:
        object_path(ROOT, "bucket", name)
    google_too = "1 to 1024" in reason or "line breaks" in reason
    assert refused.value.code == (400 if google_too else 501)
    assert reason in refused.value.message

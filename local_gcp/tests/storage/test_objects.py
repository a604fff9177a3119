"""Objects and buckets through Google's own client, as an example of what is emulated."""

import concurrent.futures
import datetime as dt
import json
import re
import urllib.request
import uuid

import pytest
from google.api_core import exceptions
from google.cloud import storage
from google.cloud.storage.blob import ObjectContexts, ObjectCustomContextPayload
from google.cloud.storage.bucket import EncryptionEnforcementConfig


def test_an_object_is_a_plain_file(bucket, folder):
    blob = bucket.blob("a/b c/ü#?.txt")
    blob.upload_from_string("hello", content_type="text/plain")
    assert (folder / "a/b c/ü#?.txt").read_text() == "hello"
    assert bucket.blob("a/b c/ü#?.txt").download_as_text() == "hello"


def test_a_plain_file_is_an_object(bucket, folder):
    (folder / "out").mkdir()
    (folder / "out/metrics.json").write_text("{}")
    (blob,) = bucket.list_blobs()
    assert (blob.name, blob.size, blob.content_type) == ("out/metrics.json", 2, "application/json")
    assert blob.md5_hash == "mZFLkyvTelC5g8XnyQrpOw=="
    assert blob.download_as_bytes() == b"{}"

    generation = blob.generation
    (folder / "out/metrics.json").write_text("[1]")
    changed = bucket.get_blob("out/metrics.json")
    assert changed.generation > generation
    assert changed.download_as_bytes() == b"[1]"


def test_metadata_stays_with_its_generation(bucket, folder):
    blob = bucket.blob("x.bin")
    blob.metadata = {"trial": "3", "gone": "soon"}
    blob.cache_control = "no-store"
    blob.custom_time = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    blob.upload_from_string(b"1")
    blob.metadata = {"gone": None, "epoch": "2"}
    blob.patch()

    read = bucket.get_blob("x.bin")
    assert read.metadata == {"trial": "3", "epoch": "2"}
    assert (read.generation, read.metageneration) == (blob.generation, 2)
    assert read.cache_control == "no-store"
    assert read.custom_time == blob.custom_time

    (folder / "x.bin").write_bytes(b"2")  # another program's object: nothing is known of it
    read = bucket.get_blob("x.bin")
    assert (read.metadata, read.metageneration, read.cache_control) == (None, 1, None)


def test_copies_take_metadata_along(bucket):
    source = bucket.blob("source")
    source.metadata = {"k": "v"}
    source.upload_from_string("text", content_type="text/x")

    copied = bucket.copy_blob(source, bucket, "copied")
    rewritten = bucket.blob("rewritten")
    token, done, total = rewritten.rewrite(source)
    assert (token, done, total) == (None, 4, 4)
    for copy in (copied, rewritten):
        copy.reload()
        assert (copy.metadata, copy.content_type) == ({"k": "v"}, "text/x")
        assert copy.crc32c == source.crc32c
    assert bucket.move_blob(source, "moved").download_as_text() == "text"
    assert not source.exists()


def test_compose_joins_objects(bucket):
    parts = [bucket.blob(f"part-{i}") for i in range(3)]
    for i, part in enumerate(parts):
        part.upload_from_string(str(i) * 3)
    whole = bucket.blob("whole")
    whole.content_type = "text/plain"
    whole.compose(parts)
    assert whole.download_as_text() == "000111222"
    assert (whole.component_count, whole.md5_hash, whole.content_type) == (3, None, "text/plain")
    with pytest.raises(exceptions.PreconditionFailed):
        whole.compose(parts, if_source_generation_match=[1, None, None])


def test_compose_may_use_its_sources_up(bucket):
    for name in "ab":
        bucket.blob(name).upload_from_string(name)
    bucket.blob("a").compose([bucket.blob(name) for name in "aba"], delete_source_objects=True)
    assert [blob.name for blob in bucket.list_blobs()] == ["a"]
    assert bucket.blob("a").download_as_text() == "aba"


def test_listing_through_the_client(bucket):
    for name in ("a.csv", "b/1.csv", "b/2.txt", "c/d/3.csv"):
        bucket.blob(name).upload_from_string("x")
    top = bucket.list_blobs(delimiter="/")
    assert [blob.name for blob in top] == ["a.csv"]
    assert top.prefixes == {"b/", "c/"}
    assert [b.name for b in bucket.list_blobs(match_glob="**/*.csv")] == [
        *("a.csv", "b/1.csv", "c/d/3.csv")
    ]
    assert [b.name for b in bucket.list_blobs(prefix="b/", page_size=1)] == ["b/1.csv", "b/2.txt"]
    assert [b.name for b in bucket.list_blobs(start_offset="b/2", end_offset="c/d/3.csv")] == [
        "b/2.txt"
    ]


def test_preconditions(bucket):
    blob = bucket.blob("x")
    blob.upload_from_string("1", if_generation_match=0)
    first = blob.generation
    with pytest.raises(exceptions.PreconditionFailed, match="generation_match 0"):
        bucket.blob("x").upload_from_string("2", if_generation_match=0)
    blob.upload_from_string("2", if_generation_match=first)
    with pytest.raises(exceptions.PreconditionFailed):
        blob.delete(if_generation_match=first)
    with pytest.raises(exceptions.PreconditionFailed):
        blob.patch(if_metageneration_match=7)
    with pytest.raises(exceptions.NotFound):
        bucket.get_blob("x").download_as_bytes() and bucket.blob("x", generation=first).reload()
    etag = bucket.get_blob("x").etag
    blob.reload(if_etag_match=etag)
    with pytest.raises(exceptions.NotModified):
        blob.reload(if_etag_not_match=etag)


def test_of_sixteen_writers_that_want_to_create_an_object_one_wins(local_gcp, bucket, client):
    def write(writer: int) -> bool:
        try:
            own = storage.Client().bucket(bucket.name).blob("lock")
            own.upload_from_string(str(writer) * 10_000, if_generation_match=0)
        except exceptions.PreconditionFailed:
            return False
        return True

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        won = list(pool.map(write, range(16)))
    assert won.count(True) == 1
    assert bucket.blob("lock").download_as_text() == str(won.index(True)) * 10_000


def test_sixteen_writers_of_one_object_leave_one_whole_object(bucket):
    def write(writer: int) -> int:
        blob = bucket.blob("shared")
        blob.upload_from_string(bytes([writer]) * 500_000)
        return blob.generation

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        generations = list(pool.map(write, range(16)))
    assert len(set(generations)) == 16
    last = bucket.get_blob("shared")
    assert last.generation == max(generations)
    assert last.download_as_bytes() == bytes([generations.index(last.generation)]) * 500_000


def test_batches_answer_each_call_by_itself(client, bucket):
    for name in ("a/1", "2"):
        bucket.blob(name).upload_from_string("x")
    with client.batch(raise_exception=False) as batch:
        for name in ("a/1", "missing", "2"):
            bucket.delete_blob(name)
    assert [response.status_code for response in batch._responses] == [204, 404, 204]
    assert list(bucket.list_blobs()) == []


def test_damaged_uploads_are_refused(bucket, client):
    blob = bucket.blob("x")
    blob.md5_hash = "AAAAAAAAAAAAAAAAAAAAAA=="
    with pytest.raises(exceptions.BadRequest, match="doesn't match calculated MD5"):
        blob.upload_from_string("text", checksum=None)
    assert not blob.exists()


def test_folders_that_are_objects(bucket, folder):
    bucket.blob("logs/").upload_from_string("")
    bucket.blob("logs/a").upload_from_string("x")
    assert [blob.name for blob in bucket.list_blobs()] == ["logs/", "logs/a"]
    bucket.blob("logs/a").delete()
    assert bucket.blob("logs/").exists()
    bucket.blob("logs/").delete()
    assert not (folder / "logs").exists()


def test_empty_prefixes_vanish(bucket, folder):
    bucket.blob("a/b/c").upload_from_string("x")
    bucket.blob("a/b/c").delete()
    assert not (folder / "a").exists()


def test_what_a_file_system_cannot_hold_is_refused(bucket):
    bucket.blob("a").upload_from_string("file")
    with pytest.raises(exceptions.Conflict, match="one of its parent folders"):
        bucket.blob("a/b").upload_from_string("x")
    bucket.blob("d/e").upload_from_string("x")
    with pytest.raises(exceptions.Conflict, match=r"beside the objects .*/d/\.\.\."):
        bucket.blob("d").upload_from_string("x")
    with pytest.raises(exceptions.MethodNotImplemented, match="plain files"):
        bucket.blob("a//b").upload_from_string("x")


def test_buckets(client, local_gcp):
    bucket = client.bucket("bucket-of-labels")
    bucket.labels = {"team": "vision"}
    bucket.storage_class = "NEARLINE"
    bucket.create(location="europe-west4")
    with pytest.raises(exceptions.Conflict):
        client.create_bucket("bucket-of-labels")
    bucket.labels = {**bucket.labels, "cost": "low"}
    bucket.patch()
    read = client.get_bucket("bucket-of-labels")
    assert (read.labels, read.location, read.storage_class) == (
        *({"team": "vision", "cost": "low"}, "EUROPE-WEST4", "NEARLINE"),
    )
    assert read.location_type == "region"
    assert read.test_iam_permissions(["storage.objects.get"]) == ["storage.objects.get"]

    (local_gcp.buckets / "bucket-of-folders").mkdir()  # mkdir makes a bucket too
    names = [b.name for b in client.list_buckets(prefix="bucket-of-")]
    assert names == ["bucket-of-folders", "bucket-of-labels"]

    bucket.blob("x").upload_from_string("x")
    with pytest.raises(exceptions.Conflict, match="not empty"):
        bucket.delete()
    bucket.blob("x").delete()
    bucket.delete()
    client.bucket("bucket-of-folders").delete()
    assert not bucket.exists()
    with pytest.raises(exceptions.NotFound):
        client.get_bucket("bucket-of-labels")
    with pytest.raises(exceptions.NotFound):
        bucket.blob("x").upload_from_string("x")


def test_what_is_not_emulated_is_named(client, bucket):
    blob = bucket.blob("x")
    blob.upload_from_string("x")
    not_emulated = {
        "/acl": blob.make_public,
        "/iam": bucket.get_iam_policy,
        "notificationConfigs": lambda: list(bucket.list_notifications()),
        "hmacKeys": lambda: list(client.list_hmac_keys()),
        "the field temporaryHold": lambda: hold(bucket.get_blob("x")),
        "the field versioning": lambda: versioned(bucket),
        "the field contexts": lambda: in_context(bucket.get_blob("x")),
        "enableObjectRetention": lambda: client.create_bucket(
            "retained", enable_object_retention=True
        ),
        "softDeleted.* of storage.objects.list": lambda: list(bucket.list_blobs(soft_deleted=True)),
        "softDeleted.* of storage.objects.get": lambda: bucket.get_blob(
            "x", generation=blob.generation, soft_deleted=True
        ),
        "parameter .* of storage.buckets.get": lambda: client.get_bucket(
            bucket.name, generation=1, soft_deleted=True
        ),
        "softDeleted.* of storage.buckets.list": lambda: list(
            client.list_buckets(soft_deleted=True)
        ),
        "EncryptionEnforcementConfig": lambda: enforced(client.bucket(bucket.name)),
        "the parameter filter": lambda: list(bucket.list_blobs(filter_='contexts."k"="v"')),
        "customer-supplied encryption": lambda: bucket.blob(
            "k", encryption_key=b"k" * 32
        ).upload_from_string("x"),
        "encryption keys": lambda: bucket.blob("x", encryption_key=b"k" * 32).download_as_bytes(),
    }
    for name, call in not_emulated.items():
        with pytest.raises(exceptions.MethodNotImplemented, match=f"does not emulate.*{name}"):
            call()


def hold(blob: storage.Blob) -> None:
    blob.temporary_hold = True
    blob.patch()


def in_context(blob: storage.Blob) -> None:
    blob.contexts = ObjectContexts(blob, custom={"k": ObjectCustomContextPayload(value="v")})
    blob.patch()


def enforced(bucket: storage.Bucket) -> None:
    bucket.encryption.customer_supplied_encryption_enforcement_config = EncryptionEnforcementConfig(
        restriction_mode="FullyRestricted"
    )
    bucket.patch()


def versioned(bucket: storage.Bucket) -> None:
    bucket.versioning_enabled = True
    bucket.patch()


def test_bad_requests_say_what_was_wrong(client, bucket):
    url = f"{client.api_endpoint}/upload/storage/v1/b/{bucket.name}/o?uploadType="
    for query, message in {
        "other": "expected one of media, multipart, resumable",
        "media": "Required: the object's 'name'",
        "media&name=x&ifGenerationMatch=first": "expected a number, got 'first'",
    }.items():
        request = urllib.request.Request(url + query, data=b"x", method="POST")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        error = json.load(refused.value)["error"]
        assert (refused.value.code, error["code"]) == (400, 400)
        assert message in error["message"]


def test_fields_that_clients_send_empty_are_as_if_not_sent(client, bucket):
    """The client sends all of a policy that it changes, also what Cloud Storage fills in."""
    made = client.bucket(f"{bucket.name}-policy")
    made.soft_delete_policy.retention_duration_seconds = 8 * 86400
    made.hierarchical_namespace_enabled = False
    made = client.create_bucket(made)
    try:
        assert made.soft_delete_policy.retention_duration_seconds == 8 * 86400
        assert isinstance(made.soft_delete_policy.effective_time, dt.datetime)
        assert made.hierarchical_namespace_enabled is False
        assert bucket.hierarchical_namespace_enabled is None
    finally:
        made.delete()


def test_an_object_has_its_bucket_s_class_and_key(client, bucket):
    """The class of the target's bucket is that of a copy too."""
    key = "projects/local-gcp/locations/us/keyRings/r/cryptoKeys/k"
    bucket.storage_class, bucket.default_kms_key_name = "NEARLINE", key
    bucket.patch()
    blob = bucket.blob("a")
    blob.upload_from_string("a")
    blob.reload()
    assert (blob.storage_class, blob.kms_key_name) == ("NEARLINE", key)
    other = bucket.blob("b")
    other.storage_class = "COLDLINE"
    other.upload_from_string("b")
    assert other.storage_class == "COLDLINE"
    plain = client.create_bucket(f"{bucket.name}-plain")
    try:
        copied = bucket.copy_blob(blob, plain)
        assert (copied.storage_class, copied.kms_key_name) == ("STANDARD", None)
    finally:
        plain.delete(force=True)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("location", "nowhere-1"),
        ("storage_class", "FOO"),
        ("iam_configuration.public_access_prevention", "maybe"),
    ],
)
def test_a_bucket_s_settings_are_those_that_exist(client, field, value):
    body = {"name": f"refused-{uuid.uuid4().hex[:8]}"}
    camel = re.sub("_([a-z])", lambda m: m[1].upper(), field).split(".")
    inner = value
    for name in reversed(camel):
        inner = {name: inner}
    with pytest.raises(exceptions.BadRequest, match=value):
        client._connection.api_request(
            method="POST", path="/b", data={**body, **inner}, query_params={"project": "local-gcp"}
        )


def test_autoclass_keeps_the_times_of_its_changes(client):
    bucket = client.bucket(f"auto-{uuid.uuid4().hex[:8]}")
    bucket.autoclass_enabled = True
    bucket.create()
    try:
        began = bucket.autoclass_toggle_time
        bucket.autoclass_terminal_storage_class = "ARCHIVE"
        bucket.patch()
        assert bucket.autoclass_toggle_time == began
        assert bucket.autoclass_terminal_storage_class_update_time > began
        bucket.autoclass_enabled = False
        bucket.patch()
        assert bucket.autoclass_toggle_time > began
    finally:
        bucket.delete()


def test_a_bucket_stays_where_it_is(client):
    bucket = client.create_bucket(f"place-{uuid.uuid4().hex[:8]}", location="europe-west4")
    bucket.iam_configuration.uniform_bucket_level_access_enabled = True
    bucket.patch()
    try:
        bucket.labels = {"a": "b"}
        bucket.update()  # replaces all that may change
        assert bucket.location == "EUROPE-WEST4"
        with pytest.raises(exceptions.MethodNotImplemented, match="location"):
            client._connection.api_request(
                method="PATCH", path=bucket.path, data={"location": "US"}, query_params={}
            )
    finally:
        bucket.delete()


def test_the_former_name_of_a_bucket_s_access_has_its_effect(client):
    bucket = client.create_bucket(f"former-{uuid.uuid4().hex[:8]}")
    try:
        former = {"iamConfiguration": {"bucketPolicyOnly": {"enabled": True}}}
        client._connection.api_request(
            method="PATCH", path=bucket.path, data=former, query_params={}
        )
        bucket.reload()
        assert bucket.iam_configuration.uniform_bucket_level_access_enabled
    finally:
        bucket.delete()

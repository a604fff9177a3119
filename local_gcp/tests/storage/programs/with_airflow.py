"""Airflow's hooks, synchronous and asynchronous (gcloud-aio). Argument: a bucket to make."""

import asyncio
import datetime as dt
import os
import sys

import pytest
from aiohttp import ClientSession
from airflow.providers.google.cloud.hooks.gcs import GCSAsyncHook, GCSHook
from gcloud.aio.storage import Bucket
from google.api_core.exceptions import MethodNotImplemented

bucket = sys.argv[1]
hook = GCSHook()
hook.create_bucket(bucket_name=bucket, labels={"team": "x"}, location="us-central1")
hook.upload(bucket, "a/b.txt", data="hi", metadata={"k": "v"})
assert hook.download(bucket, "a/b.txt") == b"hi"
assert hook.get_metadata(bucket, "a/b.txt") == {"k": "v"}
assert hook.get_size(bucket, "a/b.txt") == 2
assert hook.get_md5hash(bucket, "a/b.txt") == "SfaKXIST7CwL9ImCHCH8Ow=="
assert hook.exists(bucket, "a/b.txt")
assert hook.is_updated_after(bucket, "a/b.txt", dt.datetime(2020, 1, 1))
hook.rewrite(bucket, "a/b.txt", bucket, "c.txt")
hook.compose(bucket, ["a/b.txt", "c.txt"], "d.txt")
hook.copy(bucket, "d.txt", bucket, "e.txt")
hook.delete(bucket, "e.txt")
hook.sync(bucket, bucket, source_object="a/", destination_object="z/")
assert hook.list(bucket) == ["a/b.txt", "c.txt", "d.txt", "z/b.txt"]
assert hook.list(bucket, match_glob="**/*.txt", prefix="z/") == ["z/b.txt"]
assert set(hook.list(bucket, delimiter="/")) == {"a/", "z/"}
with pytest.raises(MethodNotImplemented, match="does not emulate"):
    hook.insert_object_acl(bucket, "c.txt", "allUsers", "READER")


async def asynchronous() -> None:
    big = os.urandom(6 << 20)
    async with ClientSession() as session:
        storage = await GCSAsyncHook().get_storage_client(session)
        await storage.upload(bucket, "aio/small", b"hello", metadata={"metadata": {"a": "b"}})
        await storage.upload(bucket, "aio/zipped", b"hello" * 100, zipped=True)
        await storage.upload(bucket, "aio/big", big)  # resumable
        assert await storage.download(bucket, "aio/small") == b"hello"
        assert await storage.download(bucket, "aio/zipped") == b"hello" * 100
        assert await storage.download(bucket, "aio/big") == big
        await storage.compose(bucket, "aio/two", ["aio/small", "aio/small"])
        await storage.patch_metadata(bucket, "aio/two", {"contentType": "a/b"})
        metadata = await storage.download_metadata(bucket, "aio/two")
        assert (metadata["contentType"], metadata["size"]) == ("a/b", "10")
        await storage.delete(bucket, "aio/two")
        listed = await Bucket(storage, bucket).list_blobs(prefix="aio/")
        assert listed == ["aio/big", "aio/small", "aio/zipped"]


asyncio.run(asynchronous())
hook.delete_bucket(bucket, force=True)

"""Storage as a library sees it: `storage_clients.py LIBRARY`, a function of this module."""

import asyncio
import sys


def _gcsfs():
    import gcsfs

    files = gcsfs.GCSFileSystem(project="local-gcp")
    files.mkdir("bucket")
    files.pipe("bucket/a", b"hello")
    assert files.cat("bucket/a") == b"hello"


def _bucket():
    from google.cloud import storage

    storage.Client().create_bucket("bucket")


def _beam():
    from apache_beam.io.gcp.gcsio import GcsIO

    _bucket()
    with GcsIO().open("gs://bucket/a", "w") as file:
        file.write(b"hello")
    assert GcsIO().open("gs://bucket/a").read() == b"hello"


def _tensorflow():
    import tensorflow as tf

    _bucket()
    tf.io.write_file("gs://bucket/a", "hello")
    assert tf.io.gfile.GFile("gs://bucket/a").read() == "hello"


def _pyarrow():
    """Google's client in C++, which comes with pyarrow."""
    from pyarrow import fs

    _bucket()
    files = fs.GcsFileSystem()
    with files.open_output_stream("bucket/a") as file:
        file.write(b"hello")
    assert files.open_input_stream("bucket/a").read() == b"hello"


def _gcloud_aio():
    import aiohttp
    from gcloud.aio.storage import Storage

    async def ask():
        async with aiohttp.ClientSession() as session:
            client = Storage(session=session)
            await client.upload("bucket", "a", b"hello")
            assert await client.download("bucket", "a") == b"hello"

    _bucket()
    asyncio.run(ask())


globals()[f"_{sys.argv[1]}"]()

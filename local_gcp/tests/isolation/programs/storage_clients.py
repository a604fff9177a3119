"""Storage as a library sees it: `storage_clients.py LIBRARY`: gcsfs, beam or tensorflow."""

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


globals()[f"_{sys.argv[1]}"]()

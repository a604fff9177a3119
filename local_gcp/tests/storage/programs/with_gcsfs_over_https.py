"""gcsfs through the proxy; there it deletes in batches. Argument: a bucket to make."""

import sys

import gcsfs

fs = gcsfs.GCSFileSystem(project="local-gcp", session_kwargs={"trust_env": True})
bucket = sys.argv[1]
fs.mkdir(bucket)
for i in range(5):
    fs.pipe(f"{bucket}/a/{i} ü.txt", b"x")
fs.rm(f"{bucket}/a", recursive=True)
assert fs.find(bucket) == []
fs.rm(bucket, recursive=True)
